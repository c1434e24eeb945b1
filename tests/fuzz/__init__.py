"""Attacks on the judge: what others write, mutated, quoted, beside; `python -m fuzz` runs them."""
