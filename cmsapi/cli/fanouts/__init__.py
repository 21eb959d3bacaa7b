"""Run one job for each of several items: what it costs, what is left out, how it goes, and what came of it."""
