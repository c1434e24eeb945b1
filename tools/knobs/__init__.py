"""The knobs of frameworks, read from their released packages into `settings/data/frameworks`."""
