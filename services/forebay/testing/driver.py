"""Drives a processor record by record, with the engine a job runs on: no Spark, no Kafka, microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forebay.formats import no_contracts
from forebay.processor.api import Processor
from forebay.processor.attempts import compute
from forebay.processor.engine import BatchResult, Codecs, EngineSettings, StateEncoding, TaskEngine, declared_stores
from forebay.processor.messages import Headers, Output, SideRecord
from forebay.stores.table import MemoryTable

E = TypeVar("E")
O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, slots=True)
class Forwarded(Generic[O]):
    """One output: key and value decoded (a value of None: a tombstone), timestamp in ms, topic, headers.

    Args:
        partition: that a partitioner chose; None: the key's hash does.
    """

    key: Any
    value: O
    timestamp: int
    topic: str = ""
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One record of `.errors` or `.late`, its headers as text."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class PipedRecord:
    """A record as it would come from Kafka (implements `Message`)."""

    source: str
    offset_: int
    key_: bytes | None
    value_: bytes | None
    timestamp_: int
    headers_: Headers
    partition_: int | None = None

    def topic(self) -> str:
        return self.source

    def partition(self) -> int:
        return self.partition_ or 0

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return self.headers_

    def timestamp(self) -> tuple[int, int]:
        return 1, self.timestamp_


class TestDriver(Generic[E, O]):
    """Pipes records into a processor and shows what it does (in the manner of TopologyTestDriver).

    Each pipe is a batch of its own. Its wall clock stands far in the future, so that event times are free.

    Args:
        processor: the logic under test.
        codecs: its contracts (see `forebay.serde` for codecs that need no registry).
        settings: engine settings; the service's name and defaults by default.
    """

    __test__ = False

    def __init__(self, processor: Processor[E, O], codecs: Codecs, settings: EngineSettings | None = None) -> None:
        self.table = MemoryTable()
        self._codecs = codecs
        self._processor = processor
        self._engine = TaskEngine(processor, codecs, self.table, settings or EngineSettings(service="test"))
        self._clock = 1 << 52
        self._batch = 0
        self._idle_ms = 0
        self.outputs: list[Forwarded[O]] = []
        self.errors: list[Failure] = []
        self.late: list[Failure] = []
        self.duplicates = 0

    @property
    def stream_time(self) -> int:
        """Largest event time accepted so far, in ms; -1 before the first record."""
        return self._engine.position.stream_time

    def pipe(self, key: str, event: E, topic: str | None = None) -> list[Forwarded[O]]:
        """Process one record; give the outputs it caused."""
        source = topic or next(iter(self._codecs.inputs))
        data = self._codecs.inputs[source].encode(event)
        return self.pipe_bytes(key.encode(), data, self._processor.timestamp(event), source)

    def pipe_bytes(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        topic: str | None = None,
        headers: Headers | None = None,
    ) -> list[Forwarded[O]]:
        """Process one record given as bytes (`timestamp`: the Kafka record's, ms); give the outputs it caused."""
        source = topic or next(iter(self._codecs.inputs))
        self._idle_ms = 0
        record = PipedRecord(source, self._batch, key, value, timestamp, headers or [])
        return self._run([record])

    def advance_wall_time(self, ms: int) -> list[Forwarded[O]]:
        """Let `ms` pass without any record: an idle topic; give the outputs it caused."""
        self._clock += ms
        self._idle_ms += ms
        return self._run([])

    def store(self, name: str) -> dict[str, Any]:
        """Return a key-value store's content as it was last committed, by key in order."""
        for _, store in declared_stores(self._processor):
            if store.name == name:
                return dict(store.all())  # type: ignore[attr-defined]
        raise KeyError(f"{type(self._processor).__name__} has no store {name!r}")

    def timers(self) -> int:
        """Count the timers set."""
        return len(self._engine.timers)

    def restart(self) -> None:
        """Start over from the committed table, as a task does in a new process."""
        self._engine.load(self._engine.position)

    def _run(self, records: list[PipedRecord]) -> list[Forwarded[O]]:
        result = compute("the driver", self._engine, lambda encoding: self._attempt(records, encoding))
        self.table.apply(result.changes, str(self._batch).encode())
        self._engine.settle(self._batch)
        self._batch += 1
        return self._show(result)

    def _attempt(self, records: list[PipedRecord], encoding: StateEncoding) -> BatchResult:
        self._engine.run([records], self._clock, encoding)
        if not records:
            self._engine.tick(self._idle_ms, self._clock)
        return self._engine.finish(self._batch)

    def _show(self, result: BatchResult) -> list[Forwarded[O]]:
        outputs = [shown(output, self._codecs) for output in result.outputs]
        self.outputs.extend(outputs)
        self.errors.extend(map(failure, result.errors))
        self.late.extend(map(failure, result.late))
        self.duplicates += result.duplicates
        return outputs


def shown(output: Output, codecs: Codecs) -> Forwarded[Any]:
    """Return an output decoded."""
    value = None if output.value is None else codecs.outputs[output.target].decode(output.value)
    kind = codecs.keys.get(output.target)
    read = bytes.decode if kind is None else kind.codec(no_contracts).decode
    key = None if output.key is None else read(output.key)
    return Forwarded(key, value, output.timestamp, output.target, tuple(output.headers or ()), output.partition)


def failure(record: SideRecord) -> Failure:
    """Return a side record with its headers as text."""
    headers = {name: (value or b"").decode(errors="backslashreplace") for name, value in record.headers}
    return Failure(record.key, record.value, headers)
