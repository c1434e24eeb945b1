"""Watches a job while it runs: taps read, the monitor judges, the agent acts."""
