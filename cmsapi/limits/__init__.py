"""Both rate limits of the key, which the client obeys."""
