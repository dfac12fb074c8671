"""A driver of small topologies for tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay.builder import Topology, job
from forebay.testing import TestDriver


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


class Driven:
    """A topology on the test driver. Every record is a separate commit."""

    def __init__(self, build: Callable[[Topology], Any], tasks: int = 1, **engine: Any) -> None:
        def topology(_: Nothing) -> Topology:
            topology = Topology()
            build(topology)
            return topology

        self.job = job(Nothing, topology)
        self.driver = TestDriver(self.job, tasks=tasks, **engine)

    def pipe(self, topic: str, key: Any, value: Any, at: int = 0, **more: Any) -> list[tuple[Any, Any, int]]:
        """Process a record. Return key, value and timestamp of each output."""
        sent = self.driver.pipe(key, value, topic, at, **more)
        assert not self.driver.errors, self.driver.errors
        return [(record.key, record.value, record.timestamp) for record in sent]

    def feed(self, topic: str, *records: tuple[Any, Any, int]) -> list[tuple[Any, Any, int]]:
        """Process (key, value, timestamp) records one by one. Return all outputs."""
        return [sent for key, value, at in records for sent in self.pipe(topic, key, value, at)]

    def idle(self, ms: int) -> list[tuple[Any, Any, int]]:
        """Let time (ms) pass without records. Return the outputs."""
        return [(record.key, record.value, record.timestamp) for record in self.driver.advance_wall_time(ms)]

    def by_topic(self, topic: str) -> list[tuple[Any, Any, int]]:
        """Return all outputs to a topic so far."""
        return [(o.key, o.value, o.timestamp) for o in self.driver.outputs if o.topic == topic]
