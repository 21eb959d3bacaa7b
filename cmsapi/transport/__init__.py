"""Sending requests: address and headers, the aiohttp transport, error answers, and retries."""
