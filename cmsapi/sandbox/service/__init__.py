"""The service without I/O: keys, limits, the ledger, and the steps of a request."""
