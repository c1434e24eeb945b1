"""The run folder and what is written into it: events, standing, history, the record of the run."""
