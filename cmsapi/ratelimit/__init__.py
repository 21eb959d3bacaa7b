"""When a request may leave, and which one is next (specification 8)."""
