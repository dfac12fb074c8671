"""The recipes of docs/spark.md work: a topic and a store as files, and a table's topic from a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from own_jvm import own_jvm
from own_topics import settings_of
from pyspark.sql import SparkSession

import forebay.spark
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints

TOPIC = "recipe-towns"


@pytest.fixture
def spark(endpoints: Endpoints) -> Iterator[SparkSession]:
    environment = {
        "FOREBAY_BOOTSTRAP_SERVERS": endpoints.bootstrap_servers,
        "FOREBAY_SCHEMA_REGISTRY_URL": endpoints.registry_url,
    }
    with own_jvm(environment):
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        forebay.spark.register(session)
        yield session
        session.stop()


@pytest.mark.timeout(600)
def test_dataframe_is_written_to_a_topic_and_exported_as_parquet(
    endpoints: Endpoints, spark: SparkSession, tmp_path: Path
) -> None:
    TopicAdmin(settings_of(endpoints)).create([TopicSpec(TOPIC, 2, {"cleanup.policy": "compact"})])
    lake, checkpoint = str(tmp_path / "lake"), str(tmp_path / "checkpoint")

    def write(rows: list[tuple[str, str, int]], key: str) -> None:
        towns = spark.createDataFrame(rows, "id string, name string, people bigint").coalesce(1)
        writer = towns.write.format("forebay").mode("append").option("topic", TOPIC).option("keyColumns", "id")
        writer.options(registerSchema="true", valueFormat="avro", keyFormat="string", idempotencyKey=key).save()

    def append_new() -> None:
        stream = spark.readStream.format("forebay").option("subscribe", TOPIC).option("startingOffsets", "earliest")
        columns = stream.option("keyFormat", "string").load().select("key", "value.*", "timestamp")
        query = columns.writeStream.format("parquet").option("path", lake).option("checkpointLocation", checkpoint)
        query.trigger(availableNow=True).start().awaitTermination()

    first, second = [("a", "Ahlen", 52_000), ("b", "Borken", 42_000)], [("a", "Ahlen", 53_000)]
    write(first, "towns-1")
    write(first, "towns-1")
    append_new()
    write(second, "towns-2")
    append_new()
    append_new()
    rows = spark.read.parquet(lake).select("key", "name", "people").collect()
    assert sorted(map(tuple, rows)) == sorted(first + second)
