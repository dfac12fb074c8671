"""The lag of a job with transactional input is 0 once it has read all records, whether or not it is running."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import INPUT, Bench
from confluent_kafka import IsolationLevel, Producer
from confluent_kafka.admin import AdminClient
from service_bench import PARTITIONS

from forebay.kafka.partition_ends import partition_ends
from forebay.platform import Platform
from forebay.runtime.driver.broker_lag import BrokerLag

TRANSACTIONS = 30
PLACES = [(INPUT, partition) for partition in range(PARTITIONS)]


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "lagging", tmp_path)
    yield bench
    bench.close()


def send(bench: Bench, transactions: int) -> None:
    """Write some transactions, each with one record for every partition."""
    producer = Producer(bench.settings.producer(**{"transactional.id": "lagging-input"}))
    producer.init_transactions(30)
    for _ in range(transactions):
        producer.begin_transaction()
        for topic, partition in PLACES:
            producer.produce(topic, b"not a record", b"k", partition)
        producer.commit_transaction(30)


def ends(bench: Bench) -> dict[tuple[str, int], int]:
    admin = AdminClient(bench.settings.admin())
    return partition_ends(admin, PLACES, IsolationLevel.READ_COMMITTED, "the inputs'")


def lag_records(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"^forebay_lag_records\{.*\} (\S+)$", text, re.MULTILINE)]


@pytest.mark.timeout(240)
def test_transaction_markers_do_not_count_as_lag(bench: Bench) -> None:
    send(bench, TRANSACTIONS)
    job = bench.job()
    job.until(lambda: job.records_in() == TRANSACTIONS * PARTITIONS, "all records are read")
    job.until(lambda: lag_records(job.http("/metrics")[1]) == [0.0] * PARTITIONS, "no record waits")
    job.kill()
    lag = BrokerLag(bench.settings, bench.application)
    assert lag.read(ends(bench)) == dict.fromkeys(PLACES, 0)
    send(bench, 7)
    assert lag.read(ends(bench)) == dict.fromkeys(PLACES, 7)
    lag.close()
