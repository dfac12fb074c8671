"""Records of a batch in processing order, decoded."""

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
        key: its row text; None where a topic's records may have none.
        event: None: there is no value (in a table the row is deleted).
        timestamp: event time in ms; -1 where it moves no time.
        failure: why it can't be used.
        ident_of: gives the id by which a repetition is recognized; None: it is none.
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
        codecs: of values, by topic.
        keys: what gives a key's row text, by topic; UTF-8 unless named.
        tables: topics in which a null value is a delete.
        nullable: topics whose records may have neither key nor value.
        timeless: topics whose records move no time (global tables).
        processor: determines event times and ids.
        handed: repartitions: their records' event time is the Kafka record's timestamp.
        names: by topic, where its records are known by another.
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
"""Makes a named tuple of all its fields: its own way there costs three times as much."""


class Streams:
    """The records of one commit, and how many of each stream were processed.

    Args:
        streams: one per input partition, each of one topic, sorted by (topic, partition).
        blames_memory: whether a MemoryError while a record is decoded is the record's fault.
    """

    def __init__(self, streams: Sequence[Iterable[Message]], *, blames_memory: bool = False) -> None:
        self.iterators = [iter(stream) for stream in streams]
        self.blames_memory = blames_memory
        self.ended: set[int] = set()
        """Streams of which every record was processed, by index."""
        self._lengths = [length_hint(iterator) for iterator in self.iterators]

    def processed_counts(self) -> list[int]:
        """Return how many records of each stream were processed, when `arrivals` is left before its end.

        One record of each stream that has not ended is decoded and waits for its turn.
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

    Of equal times tables come first, then the order of the streams counts. A record that can't be used comes right
    after its predecessor in its own stream.

    Args:
        times: event times outside of them are failures.
        counts: records read are added here by topic, once their stream ends.
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
        # The largest so far: timestamps within a partition may go back.
        last[index] = max(last[index], timestamp)
        yield record
        following = next(records, None)
        if following is None:
            heapq.heappop(heap)
            ended.add(index)
        else:
            # A record without a usable time comes right after its predecessor: its failure must not hold up the merge.
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
            # The sender has set the time of a forwarded record, which may differ from what its value says.
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
            # A delete has no value that could say its event time.
            timestamp = message.timestamp()[1] if timestamp_of is None or event is None else timestamp_of(event)
            timestamp = timestamp if extract is None else extract(message, text, event)
            # A timestamp that the changelogs don't take is refused here, because the broker would refuse it with the
            # whole transaction, and no record would be blamed.
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
    """Return why a record can't be used. Raises an error that is not the record's fault."""
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
    """Causes the failure of a record whose event time a task refuses by its own clock."""


def fails_everywhere(error: BaseException) -> bool:
    """Return whether a record fails in each task that reads it, regardless of its memory and clock."""
    return not any(isinstance(one, MemoryError | RefusedTime) for one in (error, error.__cause__))


def _name(message: Message, plan: Plan) -> str:
    topic = message.topic()
    return plan.names.get(topic, topic)


def _unusable_time(timestamp: Any, times: EventTimes) -> str:
    if timestamp.__class__ is not int:
        return f"event time {timestamp!r} is {type(timestamp).__name__}: timestamp() must return a whole number of ms"
    return f"event time {timestamp} {times.refusal(timestamp)}"


class TimerMessage:
    """Takes the place of a record in a timer's error: key and due time, no value, no offset."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def topic(self) -> str:
        return ""

    def partition(self) -> int:
        return -1

    def offset(self) -> int:
        return -1

    def key(self) -> bytes | None:
        return self._timer.key.encode()

    def value(self) -> bytes | None:
        return None

    def headers(self) -> Headers | None:
        return [("error.timer", self._timer.name.encode())]

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timer.due
