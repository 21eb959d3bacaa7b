"""Both rate limits of the key, kept on this side."""
