"""Show objects of the SDK in notebooks and terminals."""
