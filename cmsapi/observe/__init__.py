"""Observation of a client: events for hooks, and the log."""
