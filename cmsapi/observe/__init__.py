"""What a client does, as events for hooks and as lines of a log."""
