"""The topics of a case, with the records that are sent to them and those that its queries write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from forebay.formats import no_contracts
from forebay.partitioner import Partitioner
from forebay.processor.messages import Headers, Origin
from forebay.sql.catalog import Source
from forebay.sql.evolution import reads
from forebay.sql.program import Program
from forebay.sql.sources import formats_of
from forebay.testing import TestDriver
from forebay.testing.shown import PipedRecord
from tests.sql.translation.running import Failed

_PARTITIONS = 4
"""Number of partitions of topics in ksqlDB's tests."""
_PARTITION_OF = Partitioner(_PARTITIONS)


class SentTopics:
    """The records of topics that were sent to them, or that the queries wrote."""

    def __init__(self, program: Program, driver: TestDriver | None) -> None:
        self._program = program
        self._driver = driver
        self._sent: list[tuple[str, bytes | None, bytes | None, int, Headers]] = []
        self._read = {source.topic for query in program.queries for source in reads(query)}
        self._read -= {query.target.topic for query in program.queries}

    def source(self, topic: str) -> Source:
        """Return the first stream or table over a topic."""
        source = next((source for source in self._program.catalog if source.topic == topic), None)
        if source is None:
            raise Failed(f"there is no stream or table over {topic}")
        return source

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers | None = None
    ) -> None:
        """Store a record, and process it if the queries read its topic."""
        self._sent.append((topic, key, value, timestamp, headers or []))
        if self._driver is not None and topic in self._read:
            self._driver.pipe_bytes(key, value, timestamp, topic, headers)

    def tail(self, source: Source, *_: bool) -> Any:
        """Return a reader of a topic's records, which then waits without an end."""
        return _Records(list(self._records(source)))

    def watch(self, names: Sequence[str], _from_beginning: bool) -> _Batches:
        """Return a reader of the sent records of topics, one per batch."""
        ends: Counter[tuple[str, int]] = Counter()
        batches = []
        for topic, key, value, timestamp, headers in self._sent:
            if topic in names:
                partition = _PARTITION_OF(key or b"")
                offset = ends[topic, partition]
                ends[topic, partition] += 1
                batches.append([PipedRecord(topic, offset, key, value, timestamp, headers, partition)])
        return _Batches(batches)

    def _records(self, source: Source) -> Iterator[Any]:
        key_codec, value_codec = (form.codec(no_contracts) for form in formats_of(source))
        written = [output for output in (self._driver.outputs if self._driver else ()) if output.topic == source.topic]
        if written:
            yield from ((output.key, output.value, output.timestamp, []) for output in written)
            return
        for topic, key, value, timestamp, headers in self._sent:
            if topic == source.topic:
                yield (
                    None if key is None else key_codec.decode(key),
                    None if value is None else value_codec.decode(value),
                    timestamp,
                    headers,
                )


class _Batches:
    def __init__(self, batches: Sequence[Sequence[PipedRecord]]) -> None:
        self.partitions = _PARTITIONS
        self._batches = batches

    def __iter__(self) -> Iterator[Sequence[PipedRecord]]:
        return iter(self._batches)

    def close(self) -> None:
        return


class _Records:
    def __init__(self, records: list[Any]) -> None:
        self._records = records

    def __iter__(self) -> Iterator[Any]:
        for offset, (key, value, timestamp, headers) in enumerate(self._records):
            yield key, value, timestamp, Origin(0, offset, headers)

    def close(self) -> None:
        return
