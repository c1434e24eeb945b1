"""The situations, a file for each framework."""
