"""Between JSON and models: reading strictly where the specification speaks, keeping whatever else comes."""
