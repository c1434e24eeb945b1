"""The pure judge of a job that runs: reports in, a view of the job and actions out."""
