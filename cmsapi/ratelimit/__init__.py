"""Keep the limits of a key: when a request may leave, and which one is next (specification 8)."""
