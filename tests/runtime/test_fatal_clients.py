"""A worker ends after a fatal error of its producer or consumer, because retrying can't help."""

from __future__ import annotations

import random
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.partitioner import Partitioner
from forebay.runtime.errors import ClientFailed, GroupFenced, Unavailable
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import Destinations
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.transaction import GroupProducer
from tests.runtime.group_bench import GroupBench
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryConsumer, MemoryProducer

FENCED = [KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED]
OTHERS = [
    KafkaError._FATAL,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.INVALID_TXN_STATE,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
]
CALLS = ["begin_transaction", "produce", "flush", "send_offsets_to_transaction", "commit_transaction"]


class Failing(MemoryProducer):
    """A producer that fails in one call, and from then on in `begin_transaction`, as librdkafka does."""

    call = ""
    error = KafkaError(KafkaError._FATAL, fatal=True)
    met: KafkaError | None = None

    def __getattribute__(self, name: str) -> Any:
        attribute = object.__getattribute__(self, name)
        if name == Failing.call or (name == "begin_transaction" and Failing.met is not None):

            def fail(*_: Any, **__: Any) -> None:
                Failing.met = Failing.met or Failing.error
                raise KafkaException(Failing.error if name == Failing.call else Failing.met)

            return fail
        return attribute


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> GroupBench:
    monkeypatch.setattr(Failing, "met", None)
    monkeypatch.setattr(Failing, "call", "")
    monkeypatch.setattr("tests.runtime.group_bench.MemoryProducer", Failing)
    return GroupBench()


def fail(monkeypatch: pytest.MonkeyPatch, call: str, error: KafkaError) -> None:
    monkeypatch.setattr(Failing, "call", call)
    monkeypatch.setattr(Failing, "error", error)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", FENCED + OTHERS)
def test_a_fatal_error_ends_the_worker_in_whichever_call_it_shows(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    bench.feed(("a", 1, 1))
    bench.run()
    bench.wait(5)
    bench.feed(("a", 2, 1))
    fail(monkeypatch, call, KafkaError(code, fatal=True))
    with pytest.raises(GroupFenced if code in FENCED else ClientFailed):
        bench.run()


@pytest.mark.parametrize("code", FENCED)
def test_a_fencing_that_only_the_abort_shows_ends_the_worker(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    bench.feed(("a", 1, 1))
    bench.run()
    bench.feed(("a", 2, 1))
    fail(monkeypatch, "commit_transaction", KafkaError(KafkaError._TIMED_OUT, txn_requires_abort=True))

    def abort(*_: Any) -> None:
        raise KafkaException(KafkaError(code, fatal=True))

    monkeypatch.setattr(Failing, "abort_transaction", abort, raising=False)
    with pytest.raises(GroupFenced):
        bench.run()


@pytest.mark.parametrize("code", FENCED + OTHERS)
def test_a_producer_that_is_fenced_as_it_begins_ends_the_worker(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    fail(monkeypatch, "init_transactions", KafkaError(code, fatal=True))
    with pytest.raises(GroupFenced):
        bench.run()


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError.NOT_COORDINATOR])
def test_an_outage_is_not_a_fatal_error(bench: GroupBench, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    bench.feed(("a", 1, 1))
    bench.run()
    bench.feed(("a", 2, 1))
    fail(monkeypatch, "commit_transaction", KafkaError(code))
    with pytest.raises(Unavailable) as raised:
        bench.run()
    assert not isinstance(raised.value, GroupFenced)


class Message:
    def __init__(self, error: KafkaError) -> None:
        self._error = error

    def error(self) -> KafkaError:
        return self._error

    def topic(self) -> None:
        return None

    partition = offset = topic


def test_a_consumer_that_can_not_be_used_any_more_ends_the_worker() -> None:
    consumer: Any = MemoryConsumer(Broker(random.Random(0)), lambda _: None, lambda _: None)
    consumer.consume = lambda *_: [Message(KafkaError(KafkaError._FATAL, fatal=True))]
    reader = GroupReader(consumer, None)  # type: ignore[arg-type]
    with pytest.raises(ClientFailed):
        reader.read(0.0, 10)


def test_an_unusable_producer_is_not_mistaken_for_an_unresponsive_broker(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fatal error occurs while records wait in the client's queue, so a time-out is reported first."""
    consumer: Any = MemoryConsumer(bench.broker, lambda _: None, bench.wait)
    new: Any = lambda: Failing(bench.broker, "app-group-0", bench.at)  # noqa: E731
    producer = GroupProducer(consumer, new, Destinations("errors", "late", {}, Partitioner(1)))
    producer.fence()

    def stall(_: Any) -> None:
        Failing.met = KafkaError(KafkaError._FENCED, fatal=True)
        raise Unavailable("1 record waits, of which the broker took none for 60 s")

    monkeypatch.setattr("forebay.runtime.worker.send_queue.SendQueue.drain", stall)
    with pytest.raises(GroupFenced):
        producer.commit([], [TaskPosition("c", 1)])
