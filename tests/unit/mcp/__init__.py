"""Tests of the server of assistants."""
