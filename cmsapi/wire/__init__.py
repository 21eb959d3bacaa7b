"""What is sent and received: operations, JSON, pages of lists, and arguments."""
