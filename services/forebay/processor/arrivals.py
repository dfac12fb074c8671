"""Records of a batch in processing order, decoded."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from forebay.codec import Codec, DecodeError
from forebay.processor.api import AnyProcessor, Timer
from forebay.processor.handover import HandedRecord
from forebay.processor.messages import Headers, Message


class Arrival(NamedTuple):
    """A record in processing order.

    Args:
        key: its row text; None where a topic's records may have none.
        event: None: there is no value (in a table the row is deleted).
        timestamp: event time in ms; -1 where it moves no time.
        failure: why it can't be used.
        ident: id by which a repetition is recognized.
    """

    message: Message
    key: str | None
    event: Any
    timestamp: int
    failure: DecodeError | None = None
    ident: str | None = None


class Plan(NamedTuple):
    """How a task's topics are read.

    Args:
        codecs: of values, by topic.
        keys: what gives a key's row text, by topic; UTF-8 unless named.
        tables: topics in which a null value is a delete.
        nullable: topics whose records may have neither key nor value.
        timeless: topics whose records move no time (global tables).
        processor: tells event times and ids.
    """

    codecs: Mapping[str, Codec[Any]]
    keys: Mapping[str, Callable[[bytes], str]]
    tables: Collection[str]
    nullable: Collection[str]
    timeless: Collection[str]
    processor: AnyProcessor


def arrivals(streams: Sequence[Iterable[Message]], plan: Plan, limit: int, counts: dict[str, int]) -> Iterator[Arrival]:
    """Give the records of all streams by event time (semantics.md, order of processing).

    Of equal times tables come first, then the order of the streams counts. A record that can't be used comes right
    after its predecessor in its own stream.

    Args:
        limit: event times above it (ms) are failures.
        counts: records read are added here by topic, once their stream ends.
    """
    if len(streams) == 1:
        yield from _decoded(streams[0], plan, limit, counts)
        return
    heap: list[tuple[int, bool, int, Arrival, Iterator[Arrival]]] = []
    last = [-1] * len(streams)
    for index, stream in enumerate(streams):
        records = _decoded(stream, plan, limit, counts)
        first = next(records, None)
        if first is not None:
            heap.append((first.timestamp, first.message.topic() not in plan.tables, index, first, records))
    heapq.heapify(heap)
    while heap:
        timestamp, rank, index, record, records = heap[0]
        last[index] = max(last[index], timestamp)
        yield record
        following = next(records, None)
        if following is None:
            heapq.heappop(heap)
        else:
            at = following.timestamp if following.failure is None else last[index]
            heapq.heapreplace(heap, (at, rank, index, following, records))


def _decoded(stream: Iterable[Message], plan: Plan, limit: int, counts: dict[str, int]) -> Iterator[Arrival]:
    topic, decode, read, timestamp_of, ident_of = "", None, 0, None, None
    key_of: Callable[[bytes], str] = bytes.decode
    may_be_null = timeless = False
    for read, message in enumerate(stream, 1):  # noqa: B007 (counted after the loop)
        if message.topic() != topic:
            topic = message.topic()
            decode, key_of = plan.codecs[topic].decode, plan.keys.get(topic, bytes.decode)
            timestamp_of, ident_of = plan.processor.reading(topic)
            if isinstance(message, HandedRecord):
                timestamp_of = None
            may_be_null, timeless = topic in plan.nullable, topic in plan.timeless
        assert decode is not None
        try:
            key, value = message.key(), message.value()
            if (key is None or (value is None and topic not in plan.tables)) and not may_be_null:
                raise DecodeError("the record's key is null" if key is None else "the record's value is null")
            text = None if key is None else key_of(key)
            event = None if value is None else decode(value)
            timestamp = message.timestamp()[1] if timestamp_of is None or event is None else timestamp_of(event)
            if not 0 <= timestamp <= limit:
                raise DecodeError(
                    f"event time {timestamp} is negative"
                    if timestamp < 0
                    else f"event time {timestamp} lies {timestamp - limit} ms beyond the allowed future (max_future_ms)"
                )
        except UnicodeDecodeError as error:
            yield Arrival(message, None, None, -1, DecodeError(f"the record's key is not UTF-8: {error}"))
        except DecodeError as error:
            yield Arrival(message, None, None, -1, error)
        else:
            ident = None if event is None or ident_of is None else ident_of(event)
            yield Arrival(message, text, event, -1 if timeless else timestamp, None, ident)
    if read:
        counts[topic] = counts.get(topic, 0) + read


class TimerMessage:
    """Stands in for a record where a timer failed: key and due time, no value, no offset."""

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
