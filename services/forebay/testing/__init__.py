"""Testing logic without Spark and Kafka."""

from forebay.in_memory.records import Failure, Forwarded
from forebay.testing.driver import TestDriver
from forebay.testing.output_topic import OutputTopic
from forebay.testing.shown import RecordFailed

__all__ = ["Failure", "Forwarded", "OutputTopic", "RecordFailed", "TestDriver"]
