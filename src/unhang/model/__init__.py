"""Nouns: frozen dataclasses that every other part speaks in. No I/O, no third-party import."""
