"""The parts of requests and answers."""
