"""Reading of the records that a test driver's job sent to a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from forebay.in_memory.records import Forwarded

V = TypeVar("V")


class OutputTopic(Generic[V]):
    """A reader of the records of an output topic (Kafka Streams' TestOutputTopic).

    Args:
        name: Name of the topic.
        records: All records that the job has sent to any topic. More may be added later.
        value: Class of the values. A record with another value, except a tombstone, raises TypeError when it is read.
    """

    def __init__(self, name: str, records: Sequence[Forwarded[object]], value: type[V]) -> None:
        self.name = name
        self._records = records
        self._value = value
        self._next = 0

    def read(self) -> Forwarded[V | None]:
        """Return the next record. Raise LookupError if all records were read."""
        for record in self._unread():
            return record
        raise LookupError(
            f"the topic {self.name} has no more records: pipe a record that causes an output, or check is_empty"
        )

    def read_all(self) -> list[Forwarded[V | None]]:
        """Return all records that were not read yet, in order."""
        return list(self._unread())

    def read_values(self) -> list[V | None]:
        """Return the values of all records that were not read yet; None is a tombstone."""
        return [record.value for record in self._unread()]

    def read_rows(self) -> dict[object, V]:
        """Return the last value of each key of all records that were not read yet, without deleted keys."""
        rows: dict[object, V] = {}
        for record in self._unread():
            if record.value is None:
                rows.pop(record.key, None)
            else:
                rows[record.key] = record.value
        return rows

    @property
    def is_empty(self) -> bool:
        """Whether all records were read."""
        return not any(record.topic == self.name for record in self._records[self._next :])

    def _unread(self) -> Iterator[Forwarded[V | None]]:
        while self._next < len(self._records):
            record = self._records[self._next]
            self._next += 1
            if record.topic == self.name:
                yield self._check(record)

    def _check(self, record: Forwarded[object]) -> Forwarded[V | None]:
        value = record.value
        if value is not None and not isinstance(value, self._value):
            raise TypeError(
                f"the topic {self.name} has the value {value!r:.80} of type {type(value).__name__} at key "
                f"{record.key!r:.80}, not {self._value.__name__}: read it with that class"
            )
        return record  # type: ignore[return-value]
