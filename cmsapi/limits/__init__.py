"""Both rate limits of the key, kept by the client."""
