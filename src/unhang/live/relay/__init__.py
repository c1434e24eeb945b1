"""The relay: runs the command in our place, with its terminal, output, signals and exit code."""
