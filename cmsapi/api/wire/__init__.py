"""Convert between JSON and models: strictly where the specification is explicit; all else is kept as it came."""
