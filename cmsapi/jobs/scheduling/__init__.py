"""When to poll: learned durations, a plan that fits the limits, a queue."""
