"""Observing a client: events for hooks, and the log."""
