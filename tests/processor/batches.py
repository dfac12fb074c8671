"""Runs commits of several records on one engine as a task does: if one can't be written, they run one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay.processor.attempts import compute
from forebay.processor.batch import BatchResult
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings, StateEncoding
from forebay.processor.messages import Message
from forebay.stores.memory import MemoryTable
from forebay.testing.shown import PipedRecord
from tests.runtime.task_records import CODECS, Number, Sum


class Batches:
    """One task without a broker.

    Args:
        clock: Wall-clock time (ms) of every commit.
        settings: Fields of EngineSettings that differ from the defaults.
    """

    def __init__(self, processor: Sum, codecs: Codecs = CODECS, clock: int = 1_000_000, **settings: Any) -> None:
        self.table = MemoryTable()
        self._codecs, self._clock, self._number = codecs, clock, 0
        self._engine = TaskEngine(processor, codecs, self.table, EngineSettings(service="sums", **settings))

    def run(self, *records: Message, idle_ms: int = 0) -> BatchResult:
        """Process records as one commit and apply its changes. Then let `idle_ms` of idle time pass."""
        self._number += 1
        result = compute("task", self._engine, lambda encoding: self._attempt(records, encoding, idle_ms))
        self.table.apply(result.changes, str(self._number).encode())
        self._engine.settle(self._number)
        return result

    def _attempt(self, records: Sequence[Message], encoding: StateEncoding, idle_ms: int) -> BatchResult:
        self._engine.run([records], self._clock, encoding)
        self._engine.tick(idle_ms, self._clock)
        return self._engine.finish(self._number)

    def totals(self) -> dict[str, Any]:
        """Return the contents of the store "totals"."""
        decode = self._codecs.stores["totals"].decode
        rows = self.table.scan(b"totals\0", b"totals\1")
        return {key.partition(b"\0")[2].decode(): decode(value) for key, value in rows}


def sent(key: str, event: Number, at: int = 77) -> PipedRecord:
    """Return an event as a Kafka record; `at` is the record's timestamp (ms)."""
    return PipedRecord("numbers", 0, key.encode(), CODECS.inputs["numbers"].encode(event), at, [])
