"""What the clients of one account must agree on."""
