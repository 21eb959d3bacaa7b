"""The examples of web services, on real servers, asked by a real HTTP client."""
