"""A job that is restarted with edited statements on the same topics and changelogs."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.in_memory import loop
from forebay.in_memory.topics import Topics
from forebay.partitioner import Partitioner
from forebay.testing import TestDriver

Statement = Callable[[Topology], None]


class SharedTopics(Topics):
    """Topics that keep their records when a restarted job creates them again."""

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic unless it exists."""
        if topic not in self.partitions:
            super().create(topic, partitions)


class Edited:
    """A job whose statements change between its starts.

    Args:
        tasks: Number of tasks, which is also the number of partitions of each topic.
    """

    def __init__(self, tasks: int = 1) -> None:
        self.topics = SharedTopics()
        self._tasks = tasks
        self._partition_of = Partitioner(tasks)

    def start(self, *statements: Statement) -> TestDriver:
        """Start the job with these statements, and read the existing records."""

        def build(_: object) -> Topology:
            topology = Topology()
            for statement in statements:
                statement(topology)
            return topology

        with mock.patch.object(loop, "Topics", return_value=self.topics):
            return TestDriver(job(NoSettings, build), tasks=self._tasks)

    def send(self, topic: str, key: str, value: str | None, timestamp: int) -> None:
        """Append a record to a topic. The job does not have to read this topic."""
        self.topics.create(topic, self._tasks)
        partition = self.topics.partition(topic, self._partition_of(key.encode()))
        partition.append(key.encode(), None if value is None else value.encode(), timestamp, [])

    def compact(self, topic: str, key: str) -> None:
        """Remove a key's records except for the last record of each partition, as compaction does after a delete."""
        for partition in self.topics.partitions[topic]:
            last = partition.records[-1:]
            partition.records[:] = [one for one in partition.records[:-1] if one.key_ != key.encode()] + last
