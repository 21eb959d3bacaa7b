"""Measurements beside peers in the same run: ``python -m benchmarks.overhead``, ``decode``. Nothing is a test."""
