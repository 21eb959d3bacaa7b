"""Benchmarks that compare cmsapi with alternatives, such as ``python -m benchmarks.overhead``; they are not tests."""
