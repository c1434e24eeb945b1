"""Faults on purpose in real distributed jobs on this machine, with the truth beside them."""
