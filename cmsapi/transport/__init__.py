"""Sending requests: address and headers, the aiohttp transport, error responses, and retries."""
