"""Asyncio SDK for the Content Marketing Service API."""

__version__ = "0.1.0"
