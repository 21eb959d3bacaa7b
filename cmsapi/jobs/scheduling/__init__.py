"""Decide when each job is polled, and when more are launched, so that all of them fit into the limits."""
