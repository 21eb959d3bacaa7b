"""Stores for launches and batch items; shared stores also keep request counts and learned durations."""
