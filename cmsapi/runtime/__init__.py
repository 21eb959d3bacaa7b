"""What clients share: connections, limits, the clock, and one registry of accounts for each event loop."""
