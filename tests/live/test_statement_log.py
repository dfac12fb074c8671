"""An engine recognizes its own records in the statements topic, and those of another engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forebay.kafka.settings import KafkaSettings
from forebay.live import log
from forebay.live.history import Change
from forebay.live.log import Replaced, StatementLog

CHANGE = Change("")


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
        self._callback: Callable[[None, Delivered], None] | None = None

    def begin_transaction(self) -> None:
        pass

    def produce(self, topic: str, value: bytes, partition: int, on_delivery: Callable[[None, Delivered], None]) -> None:
        self._callback = on_delivery

    def commit_transaction(self, seconds: float) -> None:
        assert self._callback is not None
        self._callback(None, Delivered(self.end))
        self.end += 2


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
