"""Completes tables by the tails of their changelogs: what was committed since the snapshots they come from."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.leaders import learn_leaders
from forebay.runtime.changelog_reader import ChangelogRows, Pace
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.stores.table import Table

_FETCH = 10_000
_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 10.0
_READING = b"reading"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Tail:
    """One task's tail: where it begins, and what was found.

    Args:
        table: brought up to date.
        offsets: by topic, where reading begins and then where it ended; from the beginning where a topic is missing.
        keys: of the rows found.
        position: the last one found; None where there is none.
    """

    name: str
    rows: ChangelogRows
    number: int
    table: Table
    offsets: dict[str, int]
    keys: dict[bytes, None] = field(default_factory=dict)
    position: TaskPosition | None = None
    waiting: dict[bytes, bytes | None] = field(default_factory=dict)
    """Rows read and not applied yet."""

    def apply(self) -> None:
        """Apply what waits."""
        if self.waiting:
            self.table.apply(self.waiting.items(), _READING)
            self.waiting.clear()


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
                    self._take(place, message)
            for tail in self._tails:
                tail.apply()
            self._pace.tell()
        if records:
            self._pace.done(sum(len(tail.table) for tail in self._tails))
        log.debug("%d records of changelogs read in %.2f s", records, time.monotonic() - begun)

    def _first(self) -> list[Message]:
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _take(self, place: tuple[str, int], message: Message) -> None:
        tail = self._tail_of[place]
        key, value = message.key() or b"", message.value()
        if key == POSITION:
            if value is not None:
                tail.position = TaskPosition.from_json(value)
            return
        row, data = tail.rows.row(place[0], key, value, message.timestamp()[1])
        tail.waiting.pop(row, None)
        tail.waiting[row] = data
        tail.keys[row] = None

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


def completed(
    name: str,
    tail: Tail,
    snapshot: TaskPosition | None,
    checkpoint: str,
    restore: bool,
) -> TaskPosition | None:
    """Return where a task stands after its tail was read; None for one that never committed.

    Args:
        snapshot: where the snapshot stood that the table was filled from; None: there was none.
        checkpoint: that runs.
        restore: whether state of another checkpoint is taken over.

    Raises:
        StateConflict: the changelogs are of another checkpoint, or older than the snapshot.
    """
    found = tail.position or snapshot
    if found is None:
        if len(tail.table):
            raise StateConflict(
                f"{name}: the changelogs hold rows, but the internal changelog says nothing of where they stand: it "
                "was deleted or made anew. Put it back, or `forebay reset` starts over"
            )
        return None
    if found.checkpoint != checkpoint and not restore:
        raise StateConflict(foreign(name, found.checkpoint, checkpoint))
    if snapshot is not None and found.n < snapshot.n and found.checkpoint == snapshot.checkpoint:
        raise StateConflict(
            f"{name}: the changelogs stand at commit {found.n}, the checkpoint's snapshot at {snapshot.n}: the topics "
            "are older than the checkpoint. Put back those that belong together; or move the checkpoint away, and "
            "`forebay run --restore` goes on from the changelogs"
        )
    return found


def foreign(name: str, found: str, checkpoint: str) -> str:
    """Return what to say of a task that another checkpoint's job committed."""
    return (
        f"{name}: its last commit belongs to checkpoint {found}, but checkpoint {checkpoint} is running: the "
        "checkpoint was deleted or replaced, or another job runs under the same application id. Put the old checkpoint "
        "back; or delete this one, and `forebay run --restore` makes it anew from the changelogs; or give this job "
        "another application id, or `forebay reset` forgets its state"
    )
