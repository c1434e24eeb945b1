"""Rules of one family; one file each."""
