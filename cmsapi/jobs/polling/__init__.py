"""Read the states of jobs, and tell what was seen."""
