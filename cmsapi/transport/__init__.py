"""One request to the service: its address, the aiohttp transport, error answers, and the loop that repeats requests."""
