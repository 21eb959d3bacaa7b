"""What the shared state costs, and whether several processes keep their limits together."""
