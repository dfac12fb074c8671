"""An engine recognizes its own records in the statements topic, and those of another engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.codec import Unavailable
from forebay.kafka.settings import KafkaSettings
from forebay.live import log
from forebay.live.history import Change
from forebay.live.log import Replaced, StatementLog
from forebay.sql.inserting import Inserted

CHANGE = Change("")
RECORDS = (Inserted("readings", b"k", b"v", None), Inserted("areas", None, b"w", 17))


class Delivered:
    """A message that the broker has stored."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset


class TransactionalProducer:
    """A producer whose records get the next offset; each commit adds a marker."""

    def __init__(self) -> None:
        self.end = 0
        self.transactions: list[list[tuple[str, int | None]]] = []
        self.refused: KafkaException | None = None
        self._callback: Callable[[None, Delivered], None] | None = None

    def begin_transaction(self) -> None:
        self.transactions.append([])

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        *,
        partition: int = -1,
        on_delivery: Callable[[None, Delivered], None] | None = None,
        timestamp: int | None = None,
    ) -> None:
        self.transactions[-1].append((topic, timestamp))
        self._callback = on_delivery or self._callback

    def commit_transaction(self, seconds: float) -> None:
        if self.refused is not None:
            raise self.refused
        if self._callback is not None:
            self._callback(None, Delivered(self.end))
            self.end += 2
        self._callback = None


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
def test_an_end_that_lags_behind_a_commit_is_no_other_engine(
    statements: StatementLog, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    monkeypatch.setattr(statements, "_read_end", lambda: producer.end - behind)
    for _ in range(3):
        statements.append(CHANGE)
        statements.check()


def test_a_record_of_another_engine_ends_this_one(
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


def test_a_transaction_without_an_answer_is_no_acceptance(
    statements: StatementLog, producer: TransactionalProducer
) -> None:
    producer.refused = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(Unavailable, match="all of them or none"):
        statements.append(None, RECORDS)
    assert not statements.is_open, "the next change reads first what the broker took"
