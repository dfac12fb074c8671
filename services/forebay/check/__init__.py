"""Checks of a service before it runs: its files, and its logic with the first records, without Spark and Kafka."""
