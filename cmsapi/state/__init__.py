"""What must outlive a process: launches, items of batches, requests of the limits, learned durations."""
