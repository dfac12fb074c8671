"""Records of `<application>.errors`, sent back to the input topics they came from: unchanged, each once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from forebay.kafka.errors import failure_of
from forebay.kafka.identities import replay_group
from forebay.kafka.settings import KafkaSettings
from forebay.processor.messages import Headers

_SECONDS = 30.0
_BATCH = 5_000
_POLL_S = 1.0
_LARGEST = 64 * 1024 * 1024
_LONGEST = 200
_NUMBERED = re.compile(r"[\w.-]*\d[\w.-]*")
_FIRST_FACT = "error.class"
"""The job's own headers stand behind the record's, and begin with this one (forebay.processor.side_topics)."""


@dataclass(frozen=True, slots=True)
class Again:
    """A record as it is sent again; `timestamp` in ms, None where it had none."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: Headers


class Unfit(Exception):
    """A record can't be sent again as it was; the message says why."""


@dataclass(slots=True)
class Replayed:
    """What was sent again, or would be.

    Args:
        sent: records by input topic and by what they failed of.
        passed_over: records that can't be sent again, by why.
    """

    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)


def again(message: Message, inputs: Mapping[str, int]) -> Again:
    """Return the record that a record of `.errors` was. Raises Unfit.

    Args:
        inputs: the job's input topics with their numbers of partitions.
    """
    headers: Headers = list(message.headers() or ())  # type: ignore[arg-type]
    at = max((place for place, (name, _) in enumerate(headers) if name == _FIRST_FACT), default=-1)
    if at < 0:
        raise Unfit("it has no header error.class: the job did not write it")
    facts = {name: (value or b"").decode(errors="replace") for name, value in headers[at:]}
    for name in ("error.shortened", "error.headers"):
        if name in facts:
            raise Unfit(f"parts of it were left out ({name}): send the original again, from its input topic")
    if "error.timer" in facts or not facts.get("error.topic"):
        raise Unfit("a timer failed, not a record: the timer runs again at its next time")
    topic = facts["error.topic"]
    if topic not in inputs:
        raise Unfit(
            f"it failed after the repartition topic {topic}: send the input record again from which it was made"
        )
    try:
        partition, timestamp = int(facts["error.partition"]), int(facts["error.timestamp"])
    except (KeyError, ValueError):
        raise Unfit("its headers error.partition and error.timestamp are not numbers") from None
    if not 0 <= partition < inputs[topic]:
        raise Unfit(f"its partition {partition} does not exist any more: {topic} has {inputs[topic]} partitions")
    return Again(topic, partition, message.key(), message.value(), timestamp if timestamp >= 0 else None, headers[:at])


def reason_of(message: Message) -> str:
    """Return why a record failed, in a few words, without the names and numbers in the text."""
    facts: dict[str, str | bytes | None] = dict(message.headers() or ())
    values = (facts.get(f"error.{name}") for name in ("stage", "class", "message"))
    texts = [text.decode(errors="replace") if isinstance(text, bytes) else text or "?" for text in values]
    said = _NUMBERED.sub("…", " ".join(texts[2].split()))
    return f"{texts[0]}: {texts[1]}: {said[:_LONGEST]}"


class ErrorReplay:
    """Sends a job's failed records again.

    The transaction that sends records also commits their offsets to a consumer group, so no record is sent twice after
    an interruption. A record that fails again is a new record of `.errors`, which the next run sends. A run reads up to
    the end that the partitions had when it began, so a record that always fails does not keep it running for ever.

    Args:
        topic: the job's `.errors`.
        inputs: its input topics with their numbers of partitions.
    """

    def __init__(self, kafka: KafkaSettings, application: str, topic: str, inputs: Mapping[str, int]) -> None:
        self._kafka = kafka
        self._group = replay_group(application)
        self._topic = topic
        self._inputs = inputs

    def look(self) -> Replayed:
        """Return what a run would do now; changes nothing. Raises Unavailable."""
        replayed = Replayed()
        for messages in self._batches(self._ends()):
            for message in messages:
                self._sort(message, replayed)
        return replayed

    def run(self, on_transaction: Callable[[Replayed], None]) -> Replayed:
        """Send the records not sent yet; call `on_transaction` after each. Raises Unavailable: run it again."""
        done = Replayed()
        ends = self._ends()
        while self._send_next(ends, done):
            on_transaction(done)
        return done

    def _send_next(self, ends: Mapping[int, int], done: Replayed) -> bool:
        """Send some records before `ends` in one transaction; return whether there were any.

        Each transaction has a producer epoch of its own: if the client repeats a request, a late copy of it (an
        EndTxn, or the group's offsets) can't change the next transaction. A run at the same time is fenced off
        first: what it sent shows in the group, which is read then.
        """
        producer = self._producer()
        with closing(self._batches(ends)) as batches:
            messages = next(batches, None)
        if messages is None:
            return False
        consumer = self._consumer()
        try:
            self._send(producer, consumer, messages, done)
        finally:
            consumer.close()
        return True

    def _send(self, producer: Producer, consumer: Consumer, messages: list[Message], done: Replayed) -> None:
        ends: dict[int, int] = {}
        part = Replayed()
        try:
            producer.begin_transaction()
            for message in messages:
                ends[message.partition() or 0] = (message.offset() or 0) + 1
                record = self._sort(message, part)
                if record is not None:
                    _produce(producer, record)
            places = [TopicPartition(self._topic, partition, end) for partition, end in ends.items()]
            producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), _SECONDS)
            producer.commit_transaction(_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], "these records were not sent; give the command again") from error
        done.sent += part.sent
        done.passed_over += part.passed_over

    def _sort(self, message: Message, found: Replayed) -> Again | None:
        try:
            record = again(message, self._inputs)
        except Unfit as unfit:
            found.passed_over[str(unfit)] += 1
            return None
        found.sent[record.topic, reason_of(message)] += 1
        return record

    def _batches(self, ends: Mapping[int, int]) -> Generator[list[Message], None, None]:
        """Yield what stands before `ends` and was not sent yet, some records at a time."""
        consumer = self._consumer()
        try:
            places = self._starts(consumer, ends)
            left = {number for number, end in ends.items() if end > places[number]}
            consumer.assign([TopicPartition(self._topic, number, places[number]) for number in left])
            while left:
                batch = []
                for message in consumer.consume(_BATCH, _POLL_S):
                    number, error = message.partition() or 0, message.error()
                    if error is None and (message.offset() or 0) < ends[number]:
                        batch.append(message)
                    elif error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise failure_of(error, f"{self._topic} can't be read")
                    if error is not None or (message.offset() or 0) + 1 >= ends[number]:
                        left.discard(number)
                if batch:
                    yield batch
        except KafkaException as error:
            raise failure_of(error.args[0], f"{self._topic} can't be read") from error
        finally:
            consumer.close()

    def _ends(self) -> dict[int, int]:
        """Return where each partition ends now. Raises Unavailable."""
        consumer = self._consumer()
        try:
            known = consumer.list_topics(self._topic, timeout=_SECONDS).topics[self._topic]
            return {number: self._bounds(consumer, number)[1] for number in known.partitions}
        except KafkaException as error:
            raise failure_of(error.args[0], f"{self._topic} can't be read") from error
        finally:
            consumer.close()

    def _starts(self, consumer: Consumer, numbers: Iterable[int]) -> dict[int, int]:
        """Return from where on each partition was not sent yet, or is still kept."""
        places = consumer.committed([TopicPartition(self._topic, number) for number in numbers], _SECONDS)
        return {place.partition: max(self._bounds(consumer, place.partition)[0], place.offset) for place in places}

    def _bounds(self, consumer: Consumer, number: int) -> tuple[int, int]:
        low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, number), _SECONDS)
        return low, high

    def _consumer(self) -> Consumer:
        return Consumer(self._kafka.consumer(**{"group.id": self._group}))

    def _producer(self) -> Producer:
        identity = {"transactional.id": self._group, "message.max.bytes": _LARGEST}
        producer = Producer(self._kafka.producer(**identity))
        try:
            producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"no transaction can begin as {self._group}") from error
        return producer


def _produce(producer: Producer, record: Again) -> None:
    at = 0 if record.timestamp is None else record.timestamp
    headers: list[tuple[str, str | bytes | None]] = list(record.headers)
    producer.produce(record.topic, record.value, record.key, record.partition, timestamp=at, headers=headers)
    producer.poll(0)
