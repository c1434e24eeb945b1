"""Chinese: one module for each of the English ones."""
