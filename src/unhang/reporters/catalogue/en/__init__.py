"""English sentences, one module for each family of keys."""
