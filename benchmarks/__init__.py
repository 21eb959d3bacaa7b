"""Benchmarks of cmsapi and its peers in the same run, e.g. ``python -m benchmarks.overhead``; they are not tests."""
