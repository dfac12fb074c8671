"""Benchmarks, which print measurements and their ratio to a reference in the same run. They assert nothing."""
