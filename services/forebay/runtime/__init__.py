"""The runtime: Spark query, source, state tasks, transactions."""
