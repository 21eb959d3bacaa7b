"""Seeded random numbers, identifiers and distributions."""
