"""State that clients share, in memory, in a file or on a server: the journal, outcomes, limits, learned durations."""
