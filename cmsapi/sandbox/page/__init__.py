"""The sandbox as a page for people: what arrives, what runs, what it cost, and buttons for the strings of `Sandbox`.

It is no part of the interface: its requests meet no fault, count against no limit and are not in the ledger.
"""
