"""Stores for data that must outlive a process: launches, items of batches, counted requests, learned durations."""
