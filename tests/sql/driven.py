"""SQL programs on the test driver, which show the outputs for some inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from forebay.builder.keys import Windowed
from forebay.builder.topology_job import job
from forebay.processor.messages import Headers
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded, Sink

Written = tuple[Any, Any, int]


class Driven:
    """A program that runs as a job on the test driver. Values of the input are JSON."""

    def __init__(self, sql: str, tasks: int = 2) -> None:
        self.program = program_of(sql, "test.sql")
        self.driver = TestDriver(job(NoSettings, lambda _: topology_of(self.program)), tasks=tasks)
        self.sent: list[Any] = []
        """The outputs of the last input record, with their topics."""

    def send(
        self, topic: str, key: bytes | str | None, value: Any, timestamp: int = 0, headers: Any = None
    ) -> list[Written]:
        """Process a record, and return key, value and timestamp of its outputs."""
        data = value.encode() if isinstance(value, str) else None if value is None else json.dumps(value).encode()
        raw = key.encode() if isinstance(key, str) else key
        self.driver.pipe_bytes(raw, data, timestamp, topic, headers)
        result, self.driver.outputs = self.driver.outputs, []
        self.sent = result
        return [(plain(record.key), record.value, record.timestamp) for record in result]

    def rows(self, topic: str, *sent: tuple[str | None, Any]) -> list[tuple[Any, Any]]:
        """Process records with the timestamps 0, 1, 2..., and return keys and rows of all outputs."""
        rows = [self.send(topic, key, value, at) for at, (key, value) in enumerate(sent)]
        return [(key, value) for item in rows for key, value, _ in item]


def raw_output(topic: str, _written: object, put: Callable[[Forwarded[Any]], None]) -> Sink:
    """Return a sink that shows outputs as bytes, which replaces the test driver's `show_output`."""

    def show(
        key: bytes | None, value: bytes | None, timestamp: int, headers: Headers | None, partition: int | None
    ) -> None:
        put(Forwarded(key, value, timestamp, topic, tuple(headers or ()), partition))

    return show


def plain(key: Any) -> Any:
    """Return a key's columns (a single one as a scalar), followed by the window."""
    if isinstance(key, Windowed):
        return (*key.key, key.window.start, key.window.end)
    return key[0] if isinstance(key, tuple) and len(key) == 1 else key


def stream(columns: str, more: str = "") -> str:
    """Return a CREATE STREAM s over the topic `in`."""
    return f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON'{more});\n"
