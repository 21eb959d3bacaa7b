"""One request to the service: messages, the aiohttp transport, and the loop that repeats requests."""
