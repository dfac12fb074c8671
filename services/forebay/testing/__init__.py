"""Testing logic without Spark and Kafka."""

from forebay.testing.driver import TestDriver
from forebay.testing.output_topic import OutputTopic
from forebay.testing.shown import Failure, Forwarded, RecordFailed

__all__ = ["Failure", "Forwarded", "OutputTopic", "RecordFailed", "TestDriver"]
