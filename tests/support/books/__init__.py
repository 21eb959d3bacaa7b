"""Look for services with odd books that are paid twice without a word."""
