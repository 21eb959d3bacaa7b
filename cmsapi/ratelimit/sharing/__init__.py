"""Permits of one account for several processes, by way of a shared state."""
