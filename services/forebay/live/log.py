"""The topic of an engine's statements: one partition, which one engine at a time writes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from forebay.catalog import KEEP_FOREVER
from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import failure_of
from forebay.kafka.identities import probe_group
from forebay.kafka.partition_ends import partition_ends
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.live.history import Change, History
from forebay.queries.sending import Outgoing
from forebay.runtime.changelog.topics import internal_topic

_SECONDS = 20.0
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""Errors of records that were not sent because another record failed."""
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


class Replaced(Exception):
    """Another engine of the same name was started later and has taken over."""


class JobOfFiles(Exception):
    """The name belongs to a job of files, which no engine runs."""


def statements_topic(application: str) -> str:
    """Return the name of the topic that holds an engine's statements."""
    return f"{application}-statements"


class StatementLog:
    """Reads and writes an engine's statements.

    Each change is one transaction. The transactional id belongs to the engine that initialized it last, so that two
    engines can't both accept a change that only one of them has checked.
    """

    def __init__(self, kafka: KafkaSettings, application: str) -> None:
        self._kafka = kafka
        self._application = application
        self._topic = statements_topic(application)
        self._producer: Producer | None = None
        self._end = 0
        self._is_replaced = False

    def open(self) -> History:
        """Take over from an earlier engine. Return the changes that it accepted.

        Raises:
            JobOfFiles: a job of this name exists that no engine runs. UnreadableChange. Unavailable. Replaced: this
                engine was replaced before. It must not take over again from the engine that runs now.
        """
        self._refuse_replaced()
        self._create()
        producer = Producer(self._kafka.producer(**{"transactional.id": self._topic}))
        try:
            producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"can't take over the topic {self._topic}") from error
        history = History(self._read())
        self._producer = producer
        # By this record, an earlier engine learns that it was replaced. The broker refuses it only when it writes.
        begin = Change("", history.is_paused, {}, history.schemas)
        self.append(begin)
        return history.extend(begin)

    def check(self) -> None:
        """Raise Replaced if another engine has written to the topic, Unavailable if the broker does not answer."""
        if self.is_open and self._read_end() > self._end:
            self._is_replaced = True
        self._refuse_replaced()

    @property
    def is_open(self) -> bool:
        """Whether changes can be appended; after a failure, `open` shows what was appended."""
        return self._producer is not None

    def append(self, change: Change | None, records: Sequence[Outgoing] = ()) -> None:
        """Write a change, and the records of its INSERT statements to their topics, in one transaction.

        Args:
            change: None: the statements only insert records.

        Raises:
            Replaced: another engine has taken over. Unavailable: either everything or nothing was written; the message
                contains whether this is known. In both cases, the log is no longer open.
        """
        producer, self._producer = self._producer, None
        assert producer is not None
        offsets: list[int] = []
        refusals: list[tuple[str, KafkaError]] = []
        is_sent = False

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            topic = message.topic() or ""
            if error is not None and error.code() not in _PURGED:
                refusals.append((topic, error))
            elif error is None and topic == self._topic:
                offsets.append(message.offset() or 0)

        try:
            producer.begin_transaction()
            if change is not None:
                producer.produce(self._topic, change.encode(), partition=0, on_delivery=on_delivery)
            for record in records:
                when: dict[str, Any] = {} if record.timestamp is None else {"timestamp": record.timestamp}
                producer.produce(record.topic, record.value, record.key, on_delivery=on_delivery, **when)
            is_sent = True
            producer.commit_transaction(_SECONDS)
        except (KafkaException, BufferError) as error:
            self._note_fencing(error)
            reason = error.args[0]
            # A commit without an answer may have succeeded. Abort only if it can't be committed any more.
            if is_sent and not (isinstance(reason, KafkaError) and reason.txn_requires_abort()):
                raise Unavailable(
                    f"the broker did not answer the commit of statements: {error}. It accepted all of them or none. "
                    "Wait until SHOW QUERIES no longer shows the state `changing`: it then lists what was accepted. "
                    "Check INSERT statements with PRINT"
                ) from error
            self._abort(producer)
            raise _refusal_of(error, refusals) from error
        # The transaction marker follows the record. The broker answers a commit before it has written the marker, so a
        # request for the partition's end could still return the record's own offset here.
        if offsets:
            self._end = offsets[-1] + 2
        self._producer = producer

    def _abort(self, producer: Producer) -> None:
        """Abort the open transaction, because it hides later records of its topics. If that fails, `open` ends it."""
        try:
            producer.abort_transaction(_SECONDS)
        except KafkaException as error:
            self._note_fencing(error)

    def _note_fencing(self, error: Exception) -> None:
        """Raise Replaced if the broker refuses this engine's producer for good."""
        reason = error.args[0]
        if isinstance(reason, KafkaError) and (reason.code() in _FENCED or reason.fatal()):
            self._is_replaced = True
        self._refuse_replaced()

    def _refuse_replaced(self) -> None:
        if self._is_replaced:
            raise Replaced(
                f"another engine of {self._application} was started later and accepts its statements now: this engine "
                "ends. Run one engine per name"
            )

    def _read_end(self) -> int:
        place = self._topic, 0
        admin = AdminClient(self._kafka.admin())
        return partition_ends(admin, [place], IsolationLevel.READ_COMMITTED, "the statements'")[place]

    def _create(self) -> None:
        admin = TopicAdmin(self._kafka)
        internal = internal_topic(self._application, 0)
        existing = admin.partitions([self._topic, internal])
        if self._topic in existing:
            return
        if internal in existing:
            raise JobOfFiles(
                f"{self._application} is a job of files: statements can't change it. Change its files and "
                "restart it, or start the engine under another name"
            )
        with suppress(FileExistsError):
            admin.create([TopicSpec(self._topic, 1, KEEP_FOREVER)])

    def _read(self) -> list[Change]:
        consumer = Consumer(self._kafka.consumer(**{"group.id": probe_group(self._application)}))
        changes: list[Change] = []
        deadline = time.monotonic() + _SECONDS
        try:
            consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])
            while True:
                message = consumer.poll(0.2)
                if time.monotonic() > deadline:
                    raise Unavailable(f"the topic {self._topic} was not read within {_SECONDS:.0f} s")
                if message is None:
                    continue
                error, value, offset = message.error(), message.value(), message.offset() or 0
                if error is None and value is not None:
                    changes.append(Change.decode(value, offset))
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    break
                elif error is not None:
                    raise failure_of(error, f"the topic {self._topic} can't be read")
        except KafkaException as error:
            raise failure_of(error.args[0], f"the topic {self._topic} can't be read") from error
        finally:
            consumer.close()
        return changes


def _refusal_of(error: Exception, refusals: Sequence[tuple[str, KafkaError]]) -> Unavailable:
    """Return the error of a transaction that was not committed.

    Args:
        refusals: topics and errors of the failed records. A commit only reports that some failed.
    """
    if refusals:
        topic, reason = refusals[0]
        return failure_of(reason, f"no statement was accepted, because topic {topic} can't be written")
    if isinstance(error, KafkaException):
        return failure_of(error.args[0], "no statement was accepted")
    return Unavailable(f"no statement was accepted: {error}")
