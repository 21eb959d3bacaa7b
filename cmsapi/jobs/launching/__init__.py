"""Launch paid work at most once, and reconcile launches without an answer."""
