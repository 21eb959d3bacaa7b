"""When a request may leave, and whose turn it is (specification 8)."""
