"""The agent of a host: reads probes and `/proc`, asks the judge, does what it asks for."""
