"""Does the judge save work? The same troubled jobs with and without it, in compressed time."""
