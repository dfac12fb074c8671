"""An engine distinguishes its own records in the topic of statements from those of another engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.codec import Unavailable
from forebay.kafka.errors import NotAuthorized
from forebay.kafka.settings import KafkaSettings
from forebay.live import log
from forebay.live.history import Change
from forebay.live.log import Replaced, StatementLog
from forebay.sql.inserting import Inserted

STATEMENTS = "shop-statements"
CHANGE = Change("")
RECORDS = (Inserted("readings", b"k", b"v", None), Inserted("areas", None, b"w", 17))


class Delivered:
    """A message that the broker has acknowledged."""

    def __init__(self, topic: str, offset: int) -> None:
        self._topic = topic
        self._offset = offset

    def topic(self) -> str:
        return self._topic

    def offset(self) -> int:
        return self._offset


class TransactionalProducer:
    """A producer that assigns consecutive offsets to records, and one to the marker of each commit."""

    def __init__(self) -> None:
        self.end = 0
        self.transactions: list[list[tuple[str, int | None]]] = []
        self.refused: KafkaException | None = None
        self.unsent: KafkaException | BufferError | None = None
        self.aborts = 0
        self.failures: dict[str, KafkaError] = {}
        """The errors in the broker's responses, by topic."""
        self._callbacks: list[tuple[str, Callable[[KafkaError | None, Delivered], None]]] = []

    def init_transactions(self, seconds: float) -> None: ...

    def begin_transaction(self) -> None:
        self.transactions.append([])

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        *,
        partition: int = -1,
        on_delivery: Callable[[KafkaError | None, Delivered], None],
        timestamp: int | None = None,
    ) -> None:
        if self.unsent is not None:
            raise self.unsent
        self.transactions[-1].append((topic, timestamp))
        self._callbacks.append((topic, on_delivery))

    def commit_transaction(self, seconds: float) -> None:
        for topic, callback in self._callbacks:
            callback(self.failures.get(topic), Delivered(topic, self.end if topic == STATEMENTS else 0))
        if self.refused is not None:
            raise self.refused
        if any(topic == STATEMENTS for topic, _ in self._callbacks):
            self.end += 2
        self._callbacks.clear()

    def abort_transaction(self, seconds: float) -> None:
        self.aborts += 1


@pytest.fixture
def producer() -> TransactionalProducer:
    return TransactionalProducer()


@pytest.fixture
def statements(producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch) -> StatementLog:
    statements = StatementLog(
        KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081"), "shop"
    )
    monkeypatch.setattr(statements, "_producer", producer)
    return statements


@pytest.mark.parametrize("behind", [0, 1, 2], ids=["all is visible", "no marker yet", "nothing is visible yet"])
def test_stale_end_offset_is_not_mistaken_for_another_engine(
    statements: StatementLog, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    monkeypatch.setattr(statements, "_read_end", lambda: producer.end - behind)
    for _ in range(3):
        statements.append(CHANGE)
        statements.check()


def test_record_of_another_engine_stops_this_engine(
    statements: StatementLog, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements.append(CHANGE)
    monkeypatch.setattr(statements, "_read_end", lambda: producer.end + 1)
    with pytest.raises(Replaced, match="another engine of shop was started later"):
        statements.check()
    assert log.statements_topic("shop") == "shop-statements"


def test_a_change_and_the_records_of_its_inserts_are_one_transaction(
    statements: StatementLog, producer: TransactionalProducer
) -> None:
    statements.append(CHANGE, RECORDS)
    assert producer.transactions == [[("shop-statements", None), ("readings", None), ("areas", 17)]]


def test_records_alone_are_one_transaction_and_no_change(
    statements: StatementLog, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "_read_end", lambda: producer.end)
    statements.append(CHANGE)
    statements.append(None, RECORDS)
    assert producer.transactions[1:] == [[("readings", None), ("areas", 17)]]
    statements.check()


def test_unacknowledged_transaction_is_not_accepted(statements: StatementLog, producer: TransactionalProducer) -> None:
    producer.refused = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(Unavailable, match="all of them or none"):
        statements.append(None, RECORDS)
    assert not statements.is_open, "the next change reads first what the broker took"
    assert producer.aborts == 0, "the broker may have committed it"


def test_a_transaction_that_the_broker_refuses_is_aborted_and_the_error_has_its_reason(
    statements: StatementLog, producer: TransactionalProducer
) -> None:
    producer.refused = KafkaException(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed", False, False, True)
    )
    with pytest.raises(NotAuthorized, match=r"no statement was accepted.*TOPIC_AUTHORIZATION_FAILED"):
        statements.append(CHANGE, RECORDS)
    assert (producer.aborts, statements.is_open) == (1, False)


def test_a_transaction_with_records_that_fail_is_aborted_and_the_error_has_the_topic_and_the_reason(
    statements: StatementLog, producer: TransactionalProducer
) -> None:
    producer.failures["readings"] = KafkaError(KafkaError._PURGE_QUEUE)
    producer.failures["areas"] = KafkaError(KafkaError.INVALID_RECORD)
    producer.refused = KafkaException(KafkaError(KafkaError._INCONSISTENT, "1 message(s) failed", False, False, True))
    with pytest.raises(Unavailable, match=r"no statement was accepted, because topic areas can't be.*INVALID_RECORD"):
        statements.append(CHANGE, RECORDS)
    assert (producer.aborts, statements.is_open) == (1, False)


@pytest.mark.parametrize(
    "reason", [KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), BufferError("the queue is full")]
)
def test_a_transaction_whose_records_can_t_be_sent_is_aborted(
    statements: StatementLog, producer: TransactionalProducer, reason: KafkaException | BufferError
) -> None:
    producer.unsent = reason
    with pytest.raises(Unavailable, match="no statement was accepted"):
        statements.append(CHANGE, RECORDS)
    assert (producer.aborts, statements.is_open) == (1, False)


def test_an_engine_that_was_replaced_does_not_take_over_again(
    statements: StatementLog, producer: TransactionalProducer
) -> None:
    producer.refused = KafkaException(KafkaError(KafkaError._FENCED))
    with pytest.raises(Replaced):
        statements.append(CHANGE)
    for again in (statements.check, statements.open):
        with pytest.raises(Replaced):
            again()


def test_log_is_closed_until_it_has_been_read(
    statements: StatementLog, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer.refused = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(Unavailable):
        statements.append(CHANGE)
    monkeypatch.setattr(log, "Producer", lambda _: producer)
    monkeypatch.setattr(statements, "_create", lambda: None)
    monkeypatch.setattr(statements, "_read", unreadable)
    with pytest.raises(Unavailable, match="the broker is away"):
        statements.open()
    assert not statements.is_open


def unreadable() -> list[Change]:
    raise Unavailable("the broker is away")
