"""Reads released packages for the texts that they print, log or put on a progress bar."""
