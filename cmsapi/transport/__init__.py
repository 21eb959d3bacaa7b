"""The asyncio core: from an operation to a decoded answer, inside the limits."""
