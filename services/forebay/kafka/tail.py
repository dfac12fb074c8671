"""Reads the committed records of a topic, from a given start."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.connection_probe import why_silent
from forebay.kafka.errors import (
    KafkaRefused,
    KafkaUnavailable,
    TopicMissing,
    from_kafka,
    is_forbidden,
    is_group_refusal,
)
from forebay.kafka.identities import TAIL_GROUP
from forebay.kafka.partition_ends import offsets_at, watermarks
from forebay.kafka.settings import KafkaSettings

_POLL_S = 0.2
_FETCH = 500
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Beginning:
    """Start at the oldest record."""


@dataclass(frozen=True, slots=True)
class End:
    """Start after the newest record."""


@dataclass(frozen=True, slots=True)
class Since:
    """Start at the first record at or after `timestamp_ms`."""

    timestamp_ms: int


class NothingCame(Exception):
    """Too few records arrived within the time limit."""


Start: TypeAlias = Beginning | End | Since


class Tail:
    """Reads all partitions of a topic, without joining a consumer group."""

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._settings = settings
        self._servers = settings.bootstrap_servers
        self._topic = topic
        self._consumer = Consumer(settings.consumer(**{"group.id": TAIL_GROUP}))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read(self, start: Start, follow: bool, seconds: float | None = None) -> Iterator[Message]:
        """Yield records as they arrive: for ever, or up to the current end of the topic.

        Args:
            seconds: time limit; None: unlimited.

        Raises:
            NothingCame: the time limit is over.
            TopicMissing: there is no such topic. The message suggests similar ones.
            KafkaUnavailable, KafkaRefused: the broker can't be reached, or refuses.
        """
        try:
            places = self._places(start)
            ends = {} if follow else self._ends(places)
        except KafkaException as error:
            failure = from_kafka(error, f"can't read {self._topic} at {self._servers}")
            cause = why_silent(self._settings) if isinstance(failure, KafkaUnavailable) else ""
            raise (KafkaUnavailable(f"can't read {self._topic}: {cause}") if cause else failure) from error
        self._consumer.assign(places)
        read: dict[int | None, int] = {}
        reading: set[int | None] = {place.partition for place in places}
        deadline = None if seconds is None else time.monotonic() + seconds
        while reading:
            if deadline is not None and time.monotonic() > deadline:
                raise NothingCame(
                    f"within {seconds:g} s too few records were committed to {self._topic} at "
                    f"{self._servers}: check that its job runs and has input (/readyz, "
                    "forebay_lag_records)"
                )
            for message in self._consumer.consume(_FETCH, _POLL_S):
                trouble = message.error()
                if trouble is None:
                    partition, offset = message.partition(), message.offset() or 0
                    if offset < read.get(partition, 0):
                        continue  # after a leader election, the client may return records again
                    read[partition] = offset + 1
                    if offset < ends.get(partition, offset + 1):
                        yield message
                    # The client never reports the end of a partition that is written all the time.
                    if read[partition] >= ends.get(partition, offset + 2):
                        reading.discard(partition)
                elif trouble.code() == KafkaError._PARTITION_EOF:
                    if not follow:
                        reading.discard(message.partition())
                # A reader that commits nothing needs no right on its group, but librdkafka looks up its coordinator
                # anyway.
                elif not is_group_refusal(trouble):
                    self._refuse(trouble)

    def _places(self, start: Start) -> list[TopicPartition]:
        known = self._consumer.list_topics(timeout=_TIMEOUT_S).topics
        if self._topic not in known:
            near = difflib.get_close_matches(self._topic, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"topics are {', '.join(sorted(known)) or 'none'}"
            raise TopicMissing(f"{self._servers} has no topic {self._topic}: {hint}")
        partitions = known[self._topic].partitions
        match start:
            case Beginning():
                return [TopicPartition(self._topic, partition, OFFSET_BEGINNING) for partition in partitions]
            case End():
                return [TopicPartition(self._topic, partition, OFFSET_END) for partition in partitions]
            case Since(timestamp_ms):
                times = {(self._topic, partition): timestamp_ms for partition in partitions}
                offsets = offsets_at(self._consumer, times, _TIMEOUT_S)
                return [
                    TopicPartition(*place, OFFSET_END if offset is None else offset)
                    for place, offset in offsets.items()
                ]

    def _ends(self, places: list[TopicPartition]) -> dict[int | None, int]:
        return {place.partition: watermarks(self._consumer, place, _TIMEOUT_S)[1] for place in places}

    def _refuse(self, error: KafkaError) -> None:
        if is_forbidden(error):
            raise from_kafka(KafkaException(error), f"can't read {self._topic} at {self._servers}")
        if (
            error.fatal()
            or not (error.retriable() or error.code() < 0)
            or error.code() == KafkaError._AUTO_OFFSET_RESET
        ):
            raise KafkaRefused(f"stopped reading {self._topic} at {self._servers}: {error.str()} ({error.name()})")
