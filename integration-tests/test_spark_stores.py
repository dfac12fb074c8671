"""Stores of a job on a real broker, read as DataFrames, equal the stores of the test driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_jvm import own_jvm
from own_service import OwnService, own_service
from own_topics import settings_of
from pyspark.sql import DataFrame, SparkSession

import forebay.spark
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.testing import TestDriver
from tests.dsl.every_operator import JOB, TASKS, records

RECORDS = 140


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("stores-example", "tests.dsl.every_operator", TASKS, endpoints, tmp_path, ("any-towns",)) as own:
        yield own


@pytest.fixture
def spark(service: OwnService) -> Iterator[SparkSession]:
    with own_jvm(service.environment):
        builder = SparkSession.builder.master("local[2]").appName("stores").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        forebay.spark.register(session)
        yield session
        session.stop()


def produce(settings: KafkaSettings, driver: TestDriver) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in records(RECORDS):
        (sub_topology, *_) = (item for item in driver.sub_topologies if topic in item.definition.inputs)
        data = None if value is None else sub_topology.codecs.inputs[topic].encode(value)
        producer.produce(topic, data, key, timestamp=at)
        driver.pipe(key, value, topic, at)
    assert producer.flush(30) == 0


def milliseconds(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Return the values of these columns as sorted rows, with times in ms."""
    times = {name for name, kind in frame.dtypes if kind == "timestamp"}
    chosen = [f"unix_millis({name})" if name in times else name for name in columns]
    return sorted(tuple(row) for row in frame.selectExpr(*chosen).collect())


@pytest.mark.timeout(900)
def test_stores_equal_those_of_the_test_driver(
    endpoints: Endpoints, service: OwnService, spark: SparkSession, tmp_path: Path
) -> None:
    settings, driver = settings_of(endpoints), TestDriver(JOB, tasks=TASKS)

    def store(name: str, **options: str) -> DataFrame:
        connection = {
            "bootstrapServers": settings.bootstrap_servers,
            "schemaRegistryUrl": settings.schema_registry_url,
        }
        given = {"application": service.name, "store": name, **connection, **options}
        return spark.read.format("forebay").options(**given).load()

    assert store("stock").count() == 0
    produce(settings, driver)
    job = JobProcess([*service.command, "--trigger", "available-now"], tmp_path / "job.log", service.environment)
    assert job.finish() == 0, job.text()
    stock = milliseconds(store("stock"), "key", "timestamp", "value")
    assert stock
    assert stock == sorted((key, stamped.timestamp, stamped.value) for key, stamped in driver.store("stock").items())
    totals = milliseconds(store("reduced"), "key", "value")
    assert totals == sorted((key, stamped.value) for key, stamped in driver.store("reduced").items())
    assert milliseconds(store("towns"), "key", "value") == sorted(driver.store("towns").items())
