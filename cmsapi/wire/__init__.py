"""The interface on the wire: operations, JSON, pages and arguments."""
