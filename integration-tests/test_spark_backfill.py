"""A backfill on a real broker and the job that continues from it give the test driver's results for all records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
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
from forebay.kafka.tail import Beginning, Tail
from forebay.platform import Endpoints
from forebay.runtime.errors import StopJob
from forebay.testing import TestDriver
from tests.dsl.every_operator import INPUTS, JOB, TASKS, records

RECORDS, CUT = 140, 90
Record = tuple[str, bytes | None, bytes | None, int]


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("backfilled", "tests.dsl.every_operator", TASKS, endpoints, tmp_path, ("any-towns",)) as own:
        yield own


@pytest.fixture
def spark(service: OwnService) -> Iterator[SparkSession]:
    with own_jvm(service.environment):
        builder = SparkSession.builder.master("local[2,4]").appName("backfill").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        yield session
        session.stop()


@pytest.fixture
def driver() -> TestDriver:
    return TestDriver(JOB, tasks=TASKS)


def encode_records(driver: TestDriver) -> list[Record]:
    """Encode all records, process them in the test driver, and return their bytes."""
    given: list[Record] = []
    for topic, key, value, at in records(RECORDS):
        (sub_topology, *_) = (item for item in driver.sub_topologies if topic in item.definition.inputs)
        data = None if value is None else sub_topology.codecs.inputs[topic].encode(value)
        given.append((topic, key.encode(), data, at))
        driver.pipe(key, value, topic, at)
    assert driver.errors == []
    return given


def produce(settings: KafkaSettings, given: Sequence[Record]) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in given:
        producer.produce(topic, value, key, timestamp=at)
    assert producer.flush(30) == 0


def as_frames(spark: SparkSession, given: Sequence[Record], folder: Path) -> dict[str, DataFrame | None]:
    """Write the history of each topic to Parquet, without offsets, and return it as a DataFrame."""
    frames: dict[str, DataFrame | None] = {}
    for topic in INPUTS:
        rows = [(key, value, at) for name, key, value, at in given if name == topic]
        path = str(folder / topic)
        spark.createDataFrame(rows, "key binary, value binary, timestamp bigint").write.parquet(path)
        frames[topic] = spark.read.parquet(path)
    return frames


def sent(settings: KafkaSettings) -> dict[str, list[tuple[Any, ...]]]:
    """Return key, value and timestamp of all records in the output topics."""
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for topic in JOB.outputs:
        with Tail(settings, topic) as tail:
            for message in tail.read(Beginning(), follow=False):
                rows[topic].append((message.key(), message.value(), message.timestamp()[1]))
    return rows


def check(settings: KafkaSettings, driver: TestDriver, spark: SparkSession, application: str) -> None:
    counts: dict[str, int] = defaultdict(int)
    for output in driver.outputs:
        counts[output.topic] += 1
    assert {topic: len(rows) for topic, rows in sent(settings).items()} == counts
    forebay.spark.register(spark)
    connection = {"bootstrapServers": settings.bootstrap_servers, "schemaRegistryUrl": settings.schema_registry_url}
    for name in ("reduced", "stock", "towns", "grouped", "by-length"):
        given = {"application": application, "store": name, **connection}
        rows = spark.read.format("forebay").options(**given).load().select("key", "value").collect()
        wanted = {key: getattr(value, "value", value) for key, value in driver.store(name).items()}
        assert {row.key: row.value for row in rows} == wanted, name


@pytest.mark.timeout(900)
def test_backfill_from_files_continues_with_live_records(
    endpoints: Endpoints, service: OwnService, spark: SparkSession, driver: TestDriver, tmp_path: Path
) -> None:
    settings, given = settings_of(endpoints), encode_records(driver)
    frames = as_frames(spark, given[:CUT], tmp_path / "history")
    options = {"bootstrapServers": settings.bootstrap_servers, "schemaRegistryUrl": settings.schema_registry_url}
    result = forebay.spark.backfill(spark, service.name, frames, options=options)
    assert result.errors == 0
    with pytest.raises(StopJob, match="a backfill has finished"):
        forebay.spark.backfill(spark, service.name, frames, options=options)
    produce(settings, given[CUT:])
    job = JobProcess([*service.command, "--trigger", "available-now"], tmp_path / "job.log", service.environment)
    assert job.finish() == 0, job.text()
    check(settings, driver, spark, service.name)
