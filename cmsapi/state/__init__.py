"""Stores of launches and batch items; shared stores also keep counted requests and learned durations."""
