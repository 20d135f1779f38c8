"""Benchmarks: plain programs that print ratios measured in pairs in one run. Never a timed test."""
