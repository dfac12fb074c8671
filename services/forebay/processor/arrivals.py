"""Records of a batch in processing order, decoded."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from forebay.codec import Codec, DecodeError, Unavailable
from forebay.processor.api import AnyProcessor, Timer
from forebay.processor.messages import Headers, Message
from forebay.room import EventTimes


class InputCodecs(Protocol):
    """How the records of each input are decoded: see `Codecs`."""

    @property
    def inputs(self) -> Mapping[str, Codec[Any]]: ...
    @property
    def tables(self) -> Collection[str]: ...
    @property
    def handed(self) -> Collection[str]: ...


Decoded = tuple[Message, str, Any, int, DecodeError | None]
"""Message, key, event (None: a table's row is deleted), event time (ms), and the failure if it can't be used."""


def arrivals(
    streams: Sequence[Iterable[Message]],
    codecs: InputCodecs,
    processor: AnyProcessor,
    times: EventTimes,
    counts: dict[str, int],
) -> Iterator[Decoded]:
    """Return the records of all streams by event time (semantics.md, order of processing).

    At equal times tables come first, so that a look-up as of t sees what became valid at t; then the streams' order.
    A record that can't be used comes right after its predecessor in its own stream.

    Args:
        streams: one per input partition, each of one topic, sorted by (topic, partition).
        times: event times outside of them are failures.
        counts: records read are added here by topic, once their stream ends.
    """
    if len(streams) == 1:
        yield from _decoded(streams[0], codecs, processor, times, counts)
        return
    heap: list[tuple[int, int, Decoded, Iterator[Decoded]]] = []
    behind = len(streams)
    last = [-1] * len(streams)
    for index, stream in enumerate(streams):
        records = _decoded(stream, codecs, processor, times, counts)
        first = next(records, None)
        if first is not None:
            rank = index if first[0].topic() in codecs.tables else index + behind
            heap.append((first[3], rank, first, records))
    heapq.heapify(heap)
    while heap:
        timestamp, rank, record, records = heap[0]
        index = rank % behind
        last[index] = max(last[index], timestamp)
        yield record
        following = next(records, None)
        if following is None:
            heapq.heappop(heap)
        else:
            at = following[3] if following[4] is None else last[index]
            heapq.heapreplace(heap, (at, rank, following, records))


def _decoded(
    stream: Iterable[Message],
    codecs: InputCodecs,
    processor: AnyProcessor,
    times: EventTimes,
    counts: dict[str, int],
) -> Iterator[Decoded]:
    timestamp_of, first, last = processor.timestamp, times.first, times.last
    tables = codecs.tables
    topic, decode, read, is_handed = "", None, 0, False
    for read, message in enumerate(stream, 1):  # noqa: B007 (counted after the loop)
        if message.topic() != topic:
            topic = message.topic()
            decode = codecs.inputs[topic].decode
            is_handed = topic in codecs.handed
        assert decode is not None
        try:
            key, value = message.key(), message.value()
            if key is None or (value is None and topic not in tables):
                raise DecodeError("the record's key is null" if key is None else "the record's value is null")
            text = key.decode()
            event = None if value is None else decode(value)
        except UnicodeDecodeError as error:
            yield message, "", None, -1, DecodeError(f"the record's key is not UTF-8: {error}")
            continue
        except DecodeError as error:
            yield message, "", None, -1, error
            continue
        try:
            timestamp = message.timestamp()[1] if is_handed or event is None else timestamp_of(event)
            if timestamp.__class__ is not int or not first <= timestamp <= last:
                raise DecodeError(_unusable_time(timestamp, times))
        except (Unavailable, MemoryError):
            raise
        except DecodeError as error:
            yield message, "", None, -1, error
        except Exception as error:
            failure = DecodeError(f"the record's event time can't be told: {type(error).__name__}: {error}")
            yield message, "", None, -1, failure
        else:
            yield message, text, event, timestamp, None
    if read:
        counts[topic] = counts.get(topic, 0) + read


def _unusable_time(timestamp: Any, times: EventTimes) -> str:
    if timestamp.__class__ is not int:
        return f"event time {timestamp!r} is {type(timestamp).__name__}: timestamp() must give a whole number of ms"
    return f"event time {timestamp} {times.refusal(timestamp)}"


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
