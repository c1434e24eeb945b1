"""What the parts of a watched run tell each other: records, and their JSON."""
