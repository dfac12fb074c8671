"""What one stage's task hands to the tasks of the next, inside a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forebay.partitioner import Partitioner
from forebay.processor.messages import Headers, Output


class HandedRecord:
    """A record handed over (implements `Message`): its topic is the stage's name, its partition the task it is from."""

    __slots__ = ("_headers", "_key", "_offset", "_source", "_stage", "_timestamp", "_value")

    def __init__(
        self,
        stage: str,
        source: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers | None = None,
    ) -> None:
        self._stage = stage
        self._source = source
        self._offset = offset
        self._key = key
        self._value = value
        self._timestamp = timestamp
        self._headers = headers

    def topic(self) -> str:
        return self._stage

    def partition(self) -> int:
        return self._source

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Headers | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp


def by_task(onward: Iterable[Output], partitioner: Partitioner) -> list[list[Output]]:
    """Return what each task of the next stage is handed, in order."""
    blocks: list[list[Output]] = [[] for _ in range(partitioner.partitions)]
    for output in onward:
        blocks[partitioner(output.key or b"")].append(output)
    return blocks


def handed(stage: str, source: int, block: Sequence[tuple[bytes | None, bytes | None, int]]) -> list[HandedRecord]:
    """Return the records of a block of (key, value, timestamp in ms) that task `source` handed over."""
    return [HandedRecord(stage, source, offset, *record) for offset, record in enumerate(block)]
