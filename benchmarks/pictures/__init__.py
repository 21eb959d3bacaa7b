"""Pictures of the documentation, each made from a run: `python -m benchmarks.pictures`."""
