"""The live page: requests, jobs, credits and faults of a served sandbox, with buttons that change them.

The page is not part of the interface: its requests meet no faults, count against no limit and are not in the ledger.
"""
