"""Benchmarks: ratios measured inside one run, each beside the aim that it is held to."""
