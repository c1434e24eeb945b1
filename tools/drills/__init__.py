"""Runs the drills of the kit, judges each, and writes the pages on them."""
