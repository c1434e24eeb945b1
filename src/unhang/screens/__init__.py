"""From a run folder to screens: a terminal, a web page, Prometheus; they only ever read."""
