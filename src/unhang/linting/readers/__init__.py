"""Readers: from one source to the settings in it."""
