"""Forebay: state stores for Kafka streams, in Python, on Spark."""

__version__ = "0.2.0"
