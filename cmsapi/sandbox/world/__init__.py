"""The state of one service: its records, credits, jobs and clock."""
