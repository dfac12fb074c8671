"""Completes tables by the tails of their changelogs: what was committed since the snapshots they come from."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.leaders import learn_leaders
from forebay.runtime.changelog_reader import ChangelogRows
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.pace import Pace, Reached
from forebay.stores.keys import pack_time
from forebay.stores.table import Table

_FETCH = 10_000
_MOST_WAITING = 250_000
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


class _Rows:
    """What was read for a task and is not in its table yet."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self.waiting: dict[bytes, bytes | None] = {}
        self.position: bytes | None = None

    @property
    def are_many(self) -> bool:
        """Whether it pays to put them: a table in order takes a quarter of its own rows for less than a few."""
        return len(self.waiting) >= max(_FETCH, min(_MOST_WAITING, len(self._tail.table) // 4))

    def apply(self) -> None:
        """Put what waits into the table."""
        if self.waiting:
            self._tail.table.apply(self.waiting.items(), _READING)
            self._tail.keys.update(dict.fromkeys(self.waiting))
            self.waiting.clear()

    def finish(self) -> None:
        """Put the rest, and say where the task stands."""
        self.apply()
        if self.position is not None:
            self._tail.position = TaskPosition.from_json(self.position)


class _Partition:
    """A task's partition of one changelog."""

    def __init__(self, tail: Tail, topic: str, rows: _Rows) -> None:
        self.tail = tail
        self.topic = topic
        self.rows = rows
        self.prefix, self.is_stamped = tail.rows.form(topic)
        self.last: Message | None = None
        self.bytes = 0


class _Reading:
    def __init__(self, name: str, tails: list[Tail], consumer: Consumer, telling: bool, stall_seconds: float) -> None:
        self._tails = tails
        self._rows = [_Rows(tail) for tail in tails]
        self._partitions = {
            (topic, tail.number): _Partition(tail, topic, rows)
            for tail, rows in zip(tails, self._rows, strict=True)
            for topic in tail.rows.topics
        }
        self._unread = set(self._partitions)
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._pace = Pace(name, consumer if telling else None)

    def run(self) -> None:
        learn_leaders(self._consumer, (topic for topic, _ in self._partitions), _ANSWER_SECONDS)
        self._consumer.assign(
            [
                TopicPartition(topic, number, part.tail.offsets.get(topic, OFFSET_BEGINNING))
                for (topic, number), part in self._partitions.items()
            ]
        )
        while self._unread:
            records, size = self._take(self._consumer.consume(_FETCH, 0) or self._first())
            self._pace.took(records, size, self._stall_seconds)
            for rows in self._rows:
                if rows.are_many:
                    rows.apply()
            self._pace.tell(self._reached())
        for rows in self._rows:
            rows.finish()
        self._pace.done(sum(len(tail.table) for tail in self._tails), self._reached())

    def _first(self) -> list[Message]:
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _take(self, messages: list[Message]) -> tuple[int, int]:
        """Take in messages, a million in a restore; return how many records and bytes of values they were."""
        partitions, events, size = self._partitions, 0, 0
        for message in messages:
            if message.error() is not None:
                events += 1
                self._event(message)
                continue
            part = partitions[message.topic(), message.partition()]  # type: ignore[index]
            part.last = message
            key, value = message.key() or b"", message.value()
            if key == POSITION:
                part.rows.position = value or part.rows.position
                continue
            if value is not None:
                size += len(value)
                part.bytes += len(value)
                if part.is_stamped:
                    value = pack_time(message.timestamp()[1]) + value
            part.rows.waiting[part.prefix + key] = value
        return len(messages) - events, size

    def _reached(self) -> Reached:
        for place, part in self._partitions.items():
            if part.last is not None:
                yield *place, (part.last.offset() or 0) + 1, part.bytes

    def _event(self, message: Message) -> None:
        """Take in that a partition ended, or can't be read."""
        error, place = message.error(), (message.topic() or "", message.partition() or 0)
        assert error is not None
        part = self._partitions.get(place)
        tail = None if part is None else part.tail
        name = "" if tail is None else tail.name
        if error.code() == KafkaError._PARTITION_EOF and tail is not None:
            tail.offsets[place[0]] = message.offset() or 0
            self._unread.discard(place)
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
