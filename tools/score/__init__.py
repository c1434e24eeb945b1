"""Measures the judge on labelled jobs: how often right, how often a false blame, how honest."""
