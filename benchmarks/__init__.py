"""Benchmarks: figures next to the bars they have to meet, with the alternatives in the same run."""
