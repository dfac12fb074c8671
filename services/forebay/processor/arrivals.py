"""The records of a commit, decoded and in processing order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import length_hint
from types import MappingProxyType
from typing import Any, NamedTuple

from forebay.codec import Codec, DecodeError, Unavailable
from forebay.limits.room import EventTimes
from forebay.processor.api import AnyProcessor, Timer
from forebay.processor.messages import Headers, Message


class Arrival(NamedTuple):
    """A record in processing order.

    Args:
        key: Row text of its key. None: it has no key.
        event: Decoded value. None: it has no value (in a table, the row is deleted).
        timestamp: Event time in ms. -1: it does not advance stream time.
        failure: Reason why it can't be processed.
        ident_of: Function that returns the id by which duplicates are dropped. None: it is never a duplicate.
    """

    message: Message
    key: str | None
    event: Any
    timestamp: int
    failure: Exception | None = None
    ident_of: Callable[[Any], str | None] | None = None


class Plan(NamedTuple):
    """How a task's topics are read.

    Args:
        codecs: Codecs of the values, by topic.
        keys: Functions that return the row text of a key, by topic. By default, keys are UTF-8.
        tables: Topics in which a null value is a delete.
        nullable: Topics whose records may have no key or no value.
        timeless: Topics whose records do not advance stream time (global tables).
        processor: Processor that determines event times and ids.
        handed: Repartitions. The event time of their records is the Kafka record's timestamp.
        names: Names of topics in the job, by topic, if they differ.
    """

    codecs: Mapping[str, Codec[Any]]
    keys: Mapping[str, Callable[[bytes], str]]
    tables: Collection[str]
    nullable: Collection[str]
    timeless: Collection[str]
    processor: AnyProcessor
    handed: Collection[str] = ()
    names: Mapping[str, str] = MappingProxyType({})


_made = tuple.__new__
"""Creates a named tuple. Its own constructor costs three times as much."""


class Streams:
    """The records of one commit, and the number of processed records of each stream.

    Args:
        streams: Records of each input partition, sorted by (topic, partition).
        blames_memory: Whether a MemoryError while a record is decoded is caused by this record.
    """

    def __init__(self, streams: Sequence[Iterable[Message]], *, blames_memory: bool = False) -> None:
        self.iterators = [iter(stream) for stream in streams]
        self.blames_memory = blames_memory
        self.ended: set[int] = set()
        """Indexes of the streams whose records were all processed."""
        self._lengths = [length_hint(iterator) for iterator in self.iterators]

    def processed_counts(self) -> list[int]:
        """Return the number of processed records of each stream, if `arrivals` is abandoned before its end.

        One record of each stream that has not ended is decoded but not processed yet.
        """
        left = [length_hint(iterator) for iterator in self.iterators]
        return [
            length if index in self.ended else max(0, length - left[index] - 1)
            for index, length in enumerate(self._lengths)
        ]

    def count_cut(
        self,
        streams: Sequence[Iterable[Message]],
        processed: Sequence[int],
        counts: dict[str, int],
        names: Mapping[str, str],
    ) -> None:
        """Add the processed records of the streams that have not ended to the counts by topic."""
        assert all(count >= 0 for count in processed), "records count as processed that were not given"
        for index, count in enumerate(processed):
            if count and index not in self.ended:
                topic: str = streams[index][0].topic()  # type: ignore[index]
                name = names.get(topic, topic)
                counts[name] = counts.get(name, 0) + count


def arrivals(given: Streams, plan: Plan, times: EventTimes, counts: dict[str, int]) -> Iterator[Arrival]:
    """Yield the records of all streams by event time (semantics.md, order of processing).

    At equal times, tables come first, followed by the other streams in order. A record that can't be processed comes
    directly after the previous record of its stream.

    Args:
        times: Range of event times. Records outside of it are failures.
        counts: Number of records by topic, to which those of a stream are added when it ends.
    """
    streams, ended, blames_memory = given.iterators, given.ended, given.blames_memory
    if len(streams) == 1:
        yield from _decode(streams[0], plan, times, counts, blames_memory)
        return
    heap: list[tuple[int, bool, int, Arrival, Iterator[Arrival]]] = []
    last = [-1] * len(streams)
    for index, stream in enumerate(streams):
        records = _decode(stream, plan, times, counts, blames_memory)
        first = next(records, None)
        if first is None:
            ended.add(index)
        else:
            heap.append((first.timestamp, _name(first.message, plan) not in plan.tables, index, first, records))
    heapq.heapify(heap)
    while heap:
        timestamp, rank, index, record, records = heap[0]
        # Use the largest timestamp so far, because timestamps within a partition may decrease.
        last[index] = max(last[index], timestamp)
        yield record
        following = next(records, None)
        if following is None:
            heapq.heappop(heap)
            ended.add(index)
        else:
            # A record without a usable time comes directly after the previous one, so that its failure does not delay
            # the merge.
            at = following.timestamp if following.failure is None else last[index]
            heapq.heapreplace(heap, (at, rank, index, following, records))


def _decode(
    stream: Iterable[Message], plan: Plan, times: EventTimes, counts: dict[str, int], blames_memory: bool
) -> Iterator[Arrival]:
    first, last = times.first, times.last
    topic, name, decode, read, timestamp_of, ident_of, extract = "", "", None, 0, None, None, None
    key_of: Callable[[bytes], str] = bytes.decode
    may_be_null = timeless = is_table = False
    for read, message in enumerate(stream, 1):  # noqa: B007 (counted after the loop)
        if message.topic() != topic:
            topic = message.topic()
            name = plan.names.get(topic, topic)
            decode, key_of = plan.codecs[name].decode, plan.keys.get(name, bytes.decode)
            timestamp_of, ident_of, extract = plan.processor.reading(name)
            # The sender has set the time of a forwarded record, which may differ from the time in its value.
            if name in plan.handed:
                timestamp_of = None
            may_be_null, timeless, is_table = name in plan.nullable, name in plan.timeless, name in plan.tables
        assert decode is not None
        try:
            key, value = message.key(), message.value()
            if (key is None or (value is None and not is_table)) and not may_be_null:
                raise DecodeError("the record's key is null" if key is None else "the record's value is null")
            text = None if key is None else key_of(key)
            event = None if value is None else decode(value)
        except Exception as error:
            yield Arrival(message, None, None, -1, _refusal(error, "the record can't be decoded", blames_memory))
            continue
        try:
            # A delete has no value that could contain its event time.
            timestamp = message.timestamp()[1] if timestamp_of is None or event is None else timestamp_of(event)
            timestamp = timestamp if extract is None else extract(message, text, event)
            # Refuse a timestamp that the changelogs do not accept here. The broker would refuse the whole transaction,
            # and the record that caused it would be unknown.
            if timestamp.__class__ is not int or not first <= timestamp <= last:
                raise DecodeError(_unusable_time(timestamp, times)) from RefusedTime()
        except Exception as error:
            yield Arrival(
                message, None, None, -1, _refusal(error, "the record's event time cannot be determined", blames_memory)
            )
        else:
            at, ident = -1 if timeless else timestamp, None if event is None else ident_of
            yield _made(Arrival, (message, text, event, at, None, ident))
    if read:
        counts[name] = counts.get(name, 0) + read


def _refusal(error: Exception, what: str, blames_memory: bool) -> DecodeError:
    """Return the reason why a record can't be processed. If the record did not cause the error, raise it."""
    if not blames_memory and isinstance(error.__cause__, MemoryError):
        raise error.__cause__
    if isinstance(error, DecodeError):
        return error
    if isinstance(error, Unavailable) or (isinstance(error, MemoryError) and not blames_memory):
        raise error
    if isinstance(error, UnicodeDecodeError):
        return DecodeError(f"the record's key is not UTF-8: {error}")
    result = DecodeError(f"{what}: {type(error).__name__}: {error}")
    result.__cause__ = error
    return result


class RefusedTime(Exception):
    """Cause of the failure of a record whose event time a task refuses because of its own clock."""


def fails_everywhere(error: BaseException) -> bool:
    """Return whether a record fails in every task that reads it, regardless of the task's memory and clock."""
    return not any(isinstance(one, MemoryError | RefusedTime) for one in (error, error.__cause__))


def _name(message: Message, plan: Plan) -> str:
    topic = message.topic()
    return plan.names.get(topic, topic)


def _unusable_time(timestamp: Any, times: EventTimes) -> str:
    if timestamp.__class__ is not int:
        return f"event time {timestamp!r} is {type(timestamp).__name__}: timestamp() must return a whole number of ms"
    return f"event time {timestamp} {times.refusal(timestamp)}"


class TimerMessage:
    """A timer as the record of an error report, with its key and due time and without a value or offset."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def topic(self) -> str:
        return ""

    def partition(self) -> int:
        return -1

    def offset(self) -> int:
        return -1

    def key(self) -> bytes | None:
        key: str | None = self._timer.key
        return None if key is None else key.encode()

    def value(self) -> bytes | None:
        return None

    def headers(self) -> Headers | None:
        return [("error.timer", self._timer.name.encode())]

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timer.due
