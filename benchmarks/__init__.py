"""Benchmarks of cmsapi and its peers in the same run, such as ``python -m benchmarks.overhead``; none is a test."""
