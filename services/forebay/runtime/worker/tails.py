"""Reads the tails of changelogs from the broker."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.leaders import learn_leaders
from forebay.runtime.changelog_reader import Pace
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.task.tail import Tail

_FETCH = 10_000
_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 10.0

log = logging.getLogger(__name__)


def read_tails(
    name: str,
    tails: list[Tail],
    new_consumer: Callable[[], Consumer],
    telling: bool = False,
    stall_seconds: float = 60.0,
) -> None:
    """Read every task's changelogs to their last stable offsets, and apply what is found.

    Args:
        name: of the group, for the log.
        new_consumer: makes a read_committed consumer with partition end events; closed after use.
        telling: whether the consumer's group is told how far reading came (see `restore_progress`).

    Raises:
        StateConflict: a changelog lacks what is asked for. Unavailable.
    """
    consumer = new_consumer()
    try:
        _Reading(name, tails, consumer, telling, stall_seconds).run()
    except KafkaException as error:
        raise Unavailable(f"can't read the changelogs: {error}") from error
    finally:
        consumer.close()


class _Reading:
    def __init__(self, name: str, tails: list[Tail], consumer: Consumer, telling: bool, stall_seconds: float) -> None:
        self._tail_of = {(topic, tail.number): tail for tail in tails for topic in tail.rows.topics}
        self._tails = tails
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._pace = Pace(name, consumer if telling else None)

    def run(self) -> None:
        begun = time.monotonic()
        learn_leaders(self._consumer, (topic for topic, _ in self._tail_of), _ANSWER_SECONDS)
        self._consumer.assign(
            [
                TopicPartition(topic, number, tail.offsets.get(topic, OFFSET_BEGINNING))
                for (topic, number), tail in self._tail_of.items()
            ]
        )
        reading, records = set(self._tail_of), 0
        while reading:
            messages = self._consumer.consume(_FETCH, 0) or self._first()
            self._pace.took(messages, self._stall_seconds)
            for message in messages:
                place = message.topic() or "", message.partition() or 0
                error = message.error()
                if error is not None:
                    self._event(error, place, message, reading)
                else:
                    records += 1
                    self._tail_of[place].take(place[0], message.key() or b"", message.value(), message.timestamp()[1])
            for tail in self._tails:
                tail.apply()
            self._pace.tell()
        if records:
            self._pace.done(sum(len(tail.table) for tail in self._tails))
        log.debug("%d records of changelogs read in %.2f s", records, time.monotonic() - begun)

    def _first(self) -> list[Message]:
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _event(
        self, error: KafkaError, place: tuple[str, int], message: Message, reading: set[tuple[str, int]]
    ) -> None:
        tail = self._tail_of.get(place)
        name = "" if tail is None else tail.name
        if error.code() == KafkaError._PARTITION_EOF and tail is not None:
            tail.offsets[place[0]] = message.offset() or 0
            reading.discard(place)
        elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
            raise StateConflict(
                f"{name}: the changelog {place[0]} has no partition {place[1]}: the state can't be completed"
            )
        elif error.code() == KafkaError._AUTO_OFFSET_RESET and tail is not None:
            raise StateConflict(
                f"{name}: the changelog {place[0]}-{place[1]} does not reach back to offset "
                f"{tail.offsets.get(place[0], 0)}, where the checkpoint's snapshot ends: it was truncated or made "
                "anew. Put it back, or move the checkpoint away and `forebay run --restore`"
            )
        elif error.fatal():
            raise Unavailable(f"{name}: reading {place[0]}: {error}")
        else:
            log.warning("%s: reading %s: %s: still trying", name, place[0], error)
