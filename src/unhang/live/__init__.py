"""Watches a job while it runs: readers of the boards report, the monitor judges, the agent acts."""
