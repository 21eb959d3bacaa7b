"""How requests reach the service: through a transport in the same process, or on a socket."""
