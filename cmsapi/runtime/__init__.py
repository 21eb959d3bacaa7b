"""Connections, limits, the clock and the registry of accounts, which the clients of an event loop share."""
