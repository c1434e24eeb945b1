"""Measurements, always as ratios within one run: `make bench`."""
