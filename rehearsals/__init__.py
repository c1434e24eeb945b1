"""Situations from the field with the frameworks themselves; `registry.SITUATIONS` lists them."""
