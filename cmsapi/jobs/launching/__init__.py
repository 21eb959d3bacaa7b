"""Launch paid work at most once, and find out what became of it."""
