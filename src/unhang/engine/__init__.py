"""Map parsers over artifacts."""
