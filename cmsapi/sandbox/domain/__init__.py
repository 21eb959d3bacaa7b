"""The operations by resource: a handler takes a call and returns the document of the answer."""
