"""A batch that is killed again and again, and the service's ledger as the judge."""
