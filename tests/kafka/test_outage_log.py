"""A broker's outage is logged once when it begins and once when it ends."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.kafka import librdkafka_log
from forebay.kafka.librdkafka_log import STARVED, OutageLog


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock, caplog: pytest.LogCaptureFixture) -> OutageLog:
    caplog.set_level(logging.INFO, "forebay.kafka")
    return OutageLog("consumer", "127.0.0.1:9092", clock)


def brokers(state: str, nodeid: int = 1) -> str:
    return json.dumps({"brokers": {"127.0.0.1:9092/1": {"state": state, "nodeid": nodeid}}})


def down(code: int = KafkaError._ALL_BROKERS_DOWN) -> KafkaError:
    return KafkaError(code, "1/1 brokers are down")


def test_an_outage_is_logged_once(outage: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    for code in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
        outage.on_error(down(code))
    (record,) = caplog.records
    assert record.getMessage().startswith("broker 127.0.0.1:9092 is not reachable: retrying; check ")


def test_its_end_is_logged_once(outage: OutageLog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    outage.on_error(down())
    clock.now = 7.0
    outage.on_statistics(brokers("DOWN"))
    outage.on_statistics(brokers("UP", nodeid=-1))
    for _ in range(3):
        outage.on_statistics(brokers("UP"))
    assert [record.getMessage() for record in caplog.records][1:] == [
        "broker 127.0.0.1:9092 is reachable again after 7 s"
    ]


def test_the_next_outage_is_logged_again(outage: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        outage.on_error(down())
        outage.on_statistics(brokers("UP"))
    assert len(caplog.records) == 4


def test_statistics_are_not_parsed_without_an_outage(outage: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    outage.on_statistics("not even JSON")
    assert not caplog.records


def test_a_refused_login_is_an_error_that_names_the_options(
    outage: OutageLog, caplog: pytest.LogCaptureFixture
) -> None:
    outage.on_error(down(KafkaError._AUTHENTICATION))
    (record,) = caplog.records
    assert (record.levelname, "check its TLS and SASL options" in record.getMessage()) == ("ERROR", True)


def test_a_worker_whose_client_can_t_create_its_threads_ends_and_reports_it(
    outage: OutageLog, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(librdkafka_log, "_ENDS", threading.Event())
    starved = KafkaError(KafkaError._CRIT_SYS_RESOURCE, "Unable to create broker thread")
    outage.on_error(starved)
    assert ended == []
    librdkafka_log.end_when_starved()
    outage.on_error(starved)
    assert ended == [STARVED]
    assert [record.getMessage() for record in caplog.records] == [
        "the consumer of 127.0.0.1:9092 reports: Unable to create broker thread",
        "the consumer of 127.0.0.1:9092 has failed: Unable to create broker thread: this process ends",
    ]


def test_a_pending_error_is_raised_after_the_callback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fenced = KafkaException(KafkaError(KafkaError._FENCED))
    said: list[str] = []

    def fails(cause: BaseException | None) -> Callable[[], int]:
        def looks() -> int:
            raise SystemError("len returned a result with an exception set") from cause

        return looks

    librdkafka_log.unmask(said.append)("none is")
    monkeypatch.setattr(librdkafka_log, "_looks", fails(fenced))
    with pytest.raises(KafkaException) as result:
        librdkafka_log.unmask(said.append)("one is")
    assert result.value is fenced
    assert said == ["none is", "one is"]
    monkeypatch.setattr(librdkafka_log, "_looks", fails(None))
    with pytest.raises(SystemError):
        librdkafka_log.unmask(said.append)("of its own")


def test_the_log_method_is_defined_by_the_logger_s_class() -> None:
    logger = librdkafka_log.log_options()["logger"]
    assert "log" in vars(type(logger)), "a lookup on an instance would clear the current error"


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        (
            "TXNERR: Failed to add partitions: Local: This instance has been fenced by a newer instance",
            0,
        ),
        ("TXNERR: ProduceRequest failed: Broker: Producer attempted an operation with an old epoch (broker 1)", 0),
        ("FATAL: Fatal error: Broker: Not authorized to access cluster", 1),
    ],
)
def test_a_fenced_producer_reports_it_and_librdkafka_does_not(
    caplog: pytest.LogCaptureFixture, said: str, is_told: int
) -> None:
    logger = librdkafka_log.log_options()["logger"]
    logger.log(logging.CRITICAL, "%s", said)
    assert len(caplog.messages) == is_told
