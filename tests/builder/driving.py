"""Runs a job's stages one after the other, one task each; records cross as pickles."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forebay.job import Job
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine, declared_stores
from forebay.processor.handover import handed
from forebay.processor.messages import Message
from forebay.stores.table import MemoryTable
from forebay.testing.driver import PipedRecord


class Pickled:
    """Any record as bytes."""

    def encode(self, record: Any) -> bytes:
        return pickle.dumps(record)

    def decode(self, data: bytes) -> Any:
        return pickle.loads(data)


CODEC = Pickled()


@dataclass(frozen=True, slots=True)
class Sent:
    topic: str
    key: str
    value: Any
    timestamp: int


class Run:
    """A job in one process; every pipe is a batch of its own."""

    def __init__(self, job: Job, settings: Any = None) -> None:
        self.job = job
        self.clock = 1 << 52
        self.batch = 0
        self.idle_ms = 0
        self.errors: list[str] = []
        self.late: list[str] = []
        self.tables = [MemoryTable() for _ in range(len(job.then) + 1)]
        self.engines = [self._engine(stage, settings or job.settings()) for stage in range(len(job.then) + 1)]

    def pipe(self, topic: str, key: str, event: Any) -> list[Sent]:
        """Process one record; give what is sent, stage by stage."""
        self.idle_ms = 0
        return self._batch([PipedRecord(topic, self.batch, key.encode(), CODEC.encode(event), event.timestamp, [])])

    def delete(self, topic: str, key: str, timestamp: int) -> list[Sent]:
        """Process one record without value."""
        self.idle_ms = 0
        return self._batch([PipedRecord(topic, self.batch, key.encode(), None, timestamp, [])])

    def idle(self, ms: int) -> list[Sent]:
        """Let time pass without records."""
        self.clock += ms
        self.idle_ms += ms
        return self._batch([])

    def restart(self) -> None:
        """Forget everything that is not committed."""
        for engine in self.engines:
            engine.load(engine.position)

    def _batch(self, records: list[Message]) -> list[Sent]:
        sent: list[Sent] = []
        self.batch += 1
        for number, engine in enumerate(self.engines):
            engine.run([records], self.clock)
            if not records:
                engine.tick(self.idle_ms, self.clock)
            result = engine.finish(self.batch)
            self.tables[number].apply(result.changes, str(self.batch).encode())
            engine.settle(self.batch)
            sent += [Sent(o.target, o.key.decode(), self._shown(o.value), o.timestamp) for o in result.outputs]
            self.errors += [dict(e.headers)["error.message"].decode() for e in result.errors]
            self.late += [dict(e.headers)["late.by_ms"].decode() for e in result.late]
            following = self.job.after(number)
            if following is not None:
                records = list(handed(following.name, 0, [(o.key, o.value, o.timestamp) for o in result.onward]))
        return sent

    @staticmethod
    def _shown(value: bytes | None) -> Any:
        return None if value is None else CODEC.decode(value)

    def _engine(self, stage: int, settings: Any) -> TaskEngine:
        processor = self.job.logic(stage)(settings)
        following = self.job.after(stage)
        codecs = Codecs(
            inputs=dict.fromkeys([self.job.then[stage - 1].name] if stage else self.job.inputs, CODEC),
            stores={store.name: CODEC for _, store in declared_stores(processor)},
            outputs=dict.fromkeys(self.job.outputs, CODEC),
            onward={} if following is None else {following.name: CODEC},
            tables=frozenset() if stage else self.job.tables,
        )
        return TaskEngine(processor, codecs, self.tables[stage], EngineSettings(service="built"))


def values(sent: list[Sent]) -> Iterator[tuple[str, Any]]:
    """Give keys and values alone."""
    return ((item.key, item.value) for item in sent)
