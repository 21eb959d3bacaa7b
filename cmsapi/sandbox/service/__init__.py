"""The service without I/O: API keys, limits, kinds of jobs, the ledger, and the steps of a request."""
