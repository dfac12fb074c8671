"""Testing logic without Spark and Kafka."""

from forebay.testing.driver import Failure, Forwarded, TestDriver
from forebay.testing.jobs import JobDriver

__all__ = ["Failure", "Forwarded", "JobDriver", "TestDriver"]
