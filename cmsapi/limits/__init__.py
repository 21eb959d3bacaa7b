"""Rate limiting: keep requests within the API key's per-second and hourly limits."""
