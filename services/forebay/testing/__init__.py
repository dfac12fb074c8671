"""Testing logic without Spark and Kafka."""

from forebay.testing.driver import Failure, TestDriver

__all__ = ["Failure", "TestDriver"]
