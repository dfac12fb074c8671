"""Sends records of `<application>.errors` to the input topics they came from, unchanged and exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from forebay.kafka.errors import failure_of
from forebay.kafka.identities import replay_group
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.maintenance.error_sending import abort, note_too_large, place_of, produce_again
from forebay.runtime.maintenance.failed_records import Again, NoInput, TooLarge, Unfit, again, fits, reason_of
from forebay.runtime.maintenance.failed_topic import FailedTopic

_SECONDS = 30.0
_LARGEST = 64 * 1024 * 1024


class ReplayRefused(Exception):
    """Records would be sent twice, or passed over for good. The message names the remedy."""


class _RecordsRefused(Exception):
    """The broker refused records, or batches of them, as too large for their topics.

    Args:
        places: partitions and offsets in `.errors`.
    """

    def __init__(self, places: set[tuple[int, int]]) -> None:
        super().__init__()
        self.places = places


@dataclass(slots=True)
class Replayed:
    """The result of a replay, or its forecast.

    Args:
        sent: number of records by input topic and reason of the failure.
        passed_over: number of records that can't be sent again, by reason.
        too_large: number of these records that are larger than their topics allow.
        is_first: whether no position of an earlier replay is known.
    """

    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    too_large: int = 0
    is_first: bool = False


class ErrorReplay:
    """Sends a job's failed records again.

    The transaction that sends records also commits their offsets to a consumer group, so no record is sent twice after
    an interruption. A record that fails again is a new record of `.errors`, which the next run sends. A run reads up to
    the end that the partitions had when it began, so a record that always fails does not keep it running for ever.

    Args:
        topic: the job's `.errors` topic.
        inputs: the job's input topics with their numbers of partitions.
        begin: first offset in `.errors` to send if no position of an earlier replay is known.
        left_out: other topics, whose records are passed over.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        application: str,
        topic: str,
        inputs: Mapping[str, int],
        begin: int | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        self._kafka = kafka
        self._group = replay_group(application)
        self._failed = FailedTopic(kafka, self._group, topic)
        self._topic = topic
        self._inputs = inputs
        self._begin = begin
        self._left_out = left_out
        self._is_one_by_one = False
        """Whether batches have one record, after a refused batch, because the limit applies to whole batches."""
        self._too_large: set[tuple[int, int]] = set()
        """Partitions and offsets in `.errors` of records that are too large for their topics."""

    def look(self, max_bytes: Mapping[str, int]) -> Replayed:
        """Return the forecast of a run, without changing anything. Raises Unavailable.

        Args:
            max_bytes: max.message.bytes of the input topics, as far as they are known.
        """
        ends = self._failed.ends()
        starts, is_first = self._failed.starts(ends, self._begin)
        replayed = Replayed(is_first=is_first)
        for messages in self._failed.batches(starts, ends):
            for message in messages:
                self._sort(message, replayed, max_bytes)
        return replayed

    def run(self, on_transaction: Callable[[Replayed], None]) -> Replayed:
        """Send the records that were not sent yet; call `on_transaction` after each transaction.

        Raises:
            ReplayRefused: it is unknown which records were sent, or a record failed in a topic that is no input.
            Unavailable: call it again.
        """
        done = Replayed()
        ends = self._failed.ends()
        self._check_begin(ends)
        while True:
            try:
                if not self._send_next(ends, done):
                    return done
            except _RecordsRefused as error:
                if self._is_one_by_one:
                    self._too_large |= error.places
                self._is_one_by_one = True
                continue
            self._is_one_by_one = False
            on_transaction(done)

    def _send_next(self, ends: Mapping[int, int], done: Replayed) -> bool:
        """Send some records before `ends` in one transaction; return whether any were left.

        Each transaction has its own producer epoch. If the client repeats a request, a late copy of it (an EndTxn, or
        the group's offsets) can't change the next transaction. A concurrent run is fenced before the group is read, so
        the group contains everything that it has sent.
        """
        producer = self._producer()
        starts, _ = self._failed.starts(ends, self._begin)
        with closing(self._failed.batches(starts, ends)) as batches:
            messages = next(batches, [])
        # The positions of all partitions, even if nothing is sent. Otherwise the broker would delete the position of a
        # partition without recent failures, and keep the others.
        self._send(producer, starts, messages, done)
        return bool(messages)

    def _check_begin(self, ends: Mapping[int, int]) -> None:
        """Refuse to guess which records were sent. Raises ReplayRefused."""
        starts, is_first = self._failed.starts(ends, self._begin)
        if not is_first and self._begin is not None:
            raise ReplayRefused(
                f"the group {self._group} has a position in {self._topic}, after the records that were sent: omit "
                "--from. Nothing was sent"
            )
        if is_first and self._begin is None and any(starts[number] < end for number, end in ends.items()):
            raise ReplayRefused(
                f"the group {self._group} has no position in {self._topic}, so it is not known which records were "
                "sent before: brokers delete a position after offsets.retention.minutes (7 days) without a replay. "
                "Nothing was sent. If there was no replay before, use `--from beginning`. If there was, use `--from "
                f"OFFSET` with the first offset of {self._topic} to send"
            )

    def _send(self, producer: Producer, starts: Mapping[int, int], messages: list[Message], done: Replayed) -> None:
        # In the same transaction as the records: after an interruption, either both are there or neither is.
        positions = dict(starts)
        batch, refused = Replayed(), set[tuple[int, int]]()
        consumer = self._failed.consumer()
        try:
            producer.begin_transaction()
            for message in messages:
                place = place_of(message)
                positions[place[0]] = place[1] + 1
                record = self._sort(message, batch)
                if record is not None:
                    produce_again(producer, record, partial(note_too_large, refused, place))
            # Delivery callbacks run here, and not in the commit.
            producer.flush(_SECONDS)
            places = [TopicPartition(self._topic, number, position) for number, position in positions.items()]
            producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), _SECONDS)
            producer.commit_transaction(_SECONDS)
        except ReplayRefused:
            abort(producer)
            raise
        except KafkaException as error:
            abort(producer)
            producer.poll(0)
            if refused:
                raise _RecordsRefused(refused) from error
            raise failure_of(error.args[0], "these records were not sent: run the command again") from error
        finally:
            consumer.close()
        done.sent += batch.sent
        done.passed_over += batch.passed_over
        done.too_large += batch.too_large

    def _sort(self, message: Message, found: Replayed, max_bytes: Mapping[str, int] | None = None) -> Again | None:
        """Count a record and return it if it can be sent. Raises ReplayRefused: it would be passed over by mistake.

        Args:
            max_bytes: limits of the input topics for a forecast. In a run (None), the broker decides.
        """
        try:
            record = again(message, self._inputs)
            is_too_large = max_bytes is not None and not fits(record, max_bytes.get(record.topic, _LARGEST))
            if is_too_large or place_of(message) in self._too_large:
                raise TooLarge(message.offset(), self._topic, record.topic)
        except Unfit as unfit:
            if max_bytes is None and isinstance(unfit, NoInput) and unfit.topic not in self._left_out:
                raise ReplayRefused(
                    f"the record at offset {message.offset()} of {self._topic} failed in {unfit.topic}, which is no "
                    "input of the job. If the job has other topic names, pass its --topic options. To skip the "
                    f"records of this topic permanently, use `--leave-out {unfit.topic}`"
                ) from None
            found.passed_over[str(unfit)] += 1
            found.too_large += isinstance(unfit, TooLarge)
            return None
        found.sent[record.topic, reason_of(message)] += 1
        return record

    def _producer(self) -> Producer:
        options: dict[str, Any] = {"transactional.id": self._group, "message.max.bytes": _LARGEST}
        if self._is_one_by_one:
            # A record that its producer compressed may be too large without compression.
            options |= {"batch.num.messages": 1, "compression.type": "gzip"}
        producer = Producer(self._kafka.producer(**options))
        try:
            producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"no transaction can begin as {self._group}") from error
        return producer
