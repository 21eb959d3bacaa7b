"""The interface of the service: its operations, their schemas, and the descriptions made of them."""
