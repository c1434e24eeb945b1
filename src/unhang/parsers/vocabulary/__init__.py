"""Classifications of message texts that several parsers share; no parser lives here."""
