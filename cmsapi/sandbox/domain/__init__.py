"""What the service does, resource by resource: handlers read a call and return the document of the answer."""
