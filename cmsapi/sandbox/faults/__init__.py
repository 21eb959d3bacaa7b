"""Faults between client and service: rules, their injection, and a proxy for faults below HTTP."""
