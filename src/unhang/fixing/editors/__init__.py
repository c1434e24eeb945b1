"""One editor for each language: it changes a few characters, and then proves what it changed."""
