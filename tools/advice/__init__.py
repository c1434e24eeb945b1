"""Whether the advice is true: every patch goes through the framework's own parser."""
