"""What goes wrong on the way to the service."""
