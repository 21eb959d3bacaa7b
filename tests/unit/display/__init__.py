"""Objects in a notebook."""
