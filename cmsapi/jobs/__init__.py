"""Asynchronous work at the service: launched at most once, polled within the limits, awaited by any number of tasks."""
