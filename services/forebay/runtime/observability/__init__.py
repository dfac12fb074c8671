"""Metrics of a job: counts, latencies, lag, sizes of stores."""
