"""A real Spark session reads topics of a real broker and registry as batch and streaming DataFrames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, time
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from own_jvm import own_jvm
from own_topics import new_name, new_topic, settings_of, transactional, write, write_aborted
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import forebay.spark
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.registry import SchemaRegistry, shared_registry
from forebay.kafka.registry_settings import Compatibility
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints
from forebay.serde import load_contract
from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.schema import Schema
from forebay.serde.subjects import AVRO, JSON_SCHEMA, PROTOBUF
from forebay.spark.metrics import SparkMetrics, lag_of

AVRO_1 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}
AVRO_2 = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2},
            "default": "\0",
        },
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "tags", "type": {"type": "map", "values": ["null", "string"]}, "default": {}},
    ],
}
JSON_TEXT = json.dumps(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "notes": {"type": "array", "items": {"type": "string"}}},
        "required": ["id"],
    }
)
PROTO_TEXT = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
message Order { int64 id = 1; optional string note = 2; google.protobuf.Timestamp at = 3; repeated int32 parts = 4; }"""

Read = Callable[..., DataFrame]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with own_jvm():
        builder = SparkSession.builder.master("local[2]").appName("source").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        forebay.spark.register(session)
        yield session
        session.stop()


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return settings_of(endpoints)


@pytest.fixture
def read(spark: SparkSession, settings: KafkaSettings) -> Read:
    def read_topic(topic: str, *, stream: bool = False, **options: Any) -> DataFrame:
        reader = spark.readStream if stream else spark.read
        return (
            reader.format("forebay")
            .options(
                subscribe=topic,
                bootstrapServers=settings.bootstrap_servers,
                schemaRegistryUrl=settings.schema_registry_url,
                **options,
            )
            .load()
        )

    return read_topic


def avro(settings: KafkaSettings, topic: str, schema: Any, *values: Any) -> list[bytes]:
    schema_id = shared_registry(settings.registry()).register(f"{topic}-value", Schema(json.dumps(schema))).schema_id
    return [header(schema_id) + _written(schema, value) for value in values]


def _written(schema: Any, value: Any) -> bytes:
    data = BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
    return data.getvalue()


def produce(settings: KafkaSettings, topic: str, values: list[bytes | None], partition: int = 0, **more: Any) -> None:
    producer = transactional(settings, f"{topic}-writer")
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce(topic, value, f"k{number}", partition, timestamp=1_000 * number + 1, **more)
    producer.commit_transaction(30)


def test_avro_is_read_as_the_newest_schema_with_its_types(read: Read, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "avro")
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    old = avro(settings, topic, AVRO_1, {"id": 1})
    new = avro(settings, topic, AVRO_2, {"id": 2, "price": Decimal("12.34"), "at": at, "tags": {"a": "b", "c": None}})
    produce(settings, topic, [*old, *new, None], headers=[("h", b"1")])
    frame = read(topic, includeHeaders="true")
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,price:decimal(8,2),at:timestamp,tags:map<string,string>>"
    )
    first, second, third = frame.orderBy("offset").collect()
    assert first["value"].asDict() == {"id": 1, "price": Decimal("0.00"), "at": None, "tags": {}}
    assert second["value"]["price"] == Decimal("12.34")
    assert second["value"]["tags"] == {"a": "b", "c": None}
    assert second["value"]["at"].astimezone(UTC) == at
    assert third["value"] is None
    assert (first["key"], first["topic"], first["partition"], first["offset"]) == ("k0", topic, 0, 0)
    assert second["timestamp"].astimezone(UTC) == datetime(1970, 1, 1, 0, 0, 1, 1_000, UTC)
    assert [(part["key"], bytes(part["value"])) for part in first["headers"]] == [("h", b"1")]


def test_json_schema_and_protobuf_are_read(read: Read, settings: KafkaSettings) -> None:
    registry = shared_registry(settings.registry())
    topic = new_topic(settings, "json")
    schema_id = registry.register(f"{topic}-value", Schema(JSON_TEXT), JSON_SCHEMA).schema_id
    produce(settings, topic, [header(schema_id) + b'{"id": 7, "notes": ["a", "b"]}', header(schema_id) + b'{"id": 8}'])
    assert [row["value"].asDict() for row in read(topic).orderBy("offset").collect()] == [
        {"id": 7, "notes": ["a", "b"]},
        {"id": 8, "notes": None},
    ]
    topic = new_topic(settings, "proto")
    schema_id = registry.register(f"{topic}-value", Schema(PROTO_TEXT), PROTOBUF).schema_id
    order = class_of(message_of(PROTO_TEXT))(id=9, parts=[1, 2])
    order.at.seconds = 3
    produce(settings, topic, [header(schema_id) + b"\0" + order.SerializeToString()])
    (row,) = read(topic).collect()
    assert row["value"]["at"].astimezone(UTC) == datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert (row["value"]["id"], row["value"]["note"], row["value"]["parts"]) == (9, None, [1, 2])
    assert {AVRO, JSON_SCHEMA, PROTOBUF} == {"AVRO", "JSON", "PROTOBUF"}


def test_messages_of_other_subjects_are_rejected_and_renamed_messages_accepted(
    read: Read, settings: KafkaSettings
) -> None:
    registry = SchemaRegistry(replace(settings.registry(), compatibility=Compatibility.NONE))
    topic = new_topic(settings, "messages")
    body = b"\0\x08\x07"
    text = 'syntax = "proto3"; message {} {{ int64 id = 1; }}'
    ids = [
        registry.register(subject, Schema(text.format(name)), PROTOBUF).schema_id
        for subject, name in ((f"{topic}-value", "Old"), (f"{topic}-value", "New"), (f"other-{topic}-value", "Other"))
    ]
    produce(settings, topic, [header(schema_id) + body for schema_id in ids])
    rows = read(topic, mode="column").orderBy("offset").collect()
    assert [None if row["value"] is None else row["value"]["id"] for row in rows] == [7, 7, None]
    assert "it is a message Other, not New" in rows[2]["_error"]


def test_each_topic_s_records_are_resolved_against_its_own_subject(read: Read, settings: KafkaSettings) -> None:
    """Only the second topic's subject has an earlier version of the schema."""
    first, second = (new_topic(settings, f"resolved-{name}") for name in "ab")
    old = avro(settings, second, AVRO_1, {"id": 1})
    price = {"id": 2, "price": Decimal("1.50"), "at": None, "tags": {}}
    produce(settings, second, [*old, *avro(settings, second, AVRO_2, price)])
    produce(settings, first, [*avro(settings, first, AVRO_2, {**price, "id": 3}), *old])
    options = {"subscribePattern": f"{first}|{second}", "mode": "column"}
    rows = read("", **options).orderBy("topic", "offset").collect()
    assert [row["value"] and row["value"]["id"] for row in rows if row["topic"] == second] == [1, 2]
    good, foreign = (row for row in rows if row["topic"] == first)
    assert (good["value"]["id"], good["_error"]) == (3, None)
    assert f"is not of the subject {first}-value" in foreign["_error"]


def test_aborted_records_are_not_read_and_markers_end_no_batch(read: Read, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "aborted", 2)
    write(settings, topic, [(0, "a"), (1, "b")])
    write_aborted(settings, topic, [(0, "never"), (1, "never")])
    rows = read(topic, valueFormat="string").collect()
    assert sorted(row["value"] for row in rows) == ["a", "b"]


def test_bounds_and_filters_choose_offsets(read: Read, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "bounds")
    produce(settings, topic, [str(number).encode() for number in range(10)])

    def values(**options: str) -> list[str]:
        return [row["value"] for row in read(topic, valueFormat="string", **options).orderBy("offset").collect()]

    assert values(startingOffsets=json.dumps({topic: {"0": 7}})) == ["7", "8", "9"]
    assert values(startingOffsets="earliest", endingOffsets=json.dumps({topic: {"0": 2}})) == ["0", "1"]
    assert values(startingTimestamp="3000", endingTimestamp="1970-01-01T00:00:05+00:00") == ["3", "4"]
    assert values(startingTimestamp="99000") == []
    # In Kafka's protocol, -1 is the latest offset.
    assert len(values(startingTimestamp="1969-12-31T23:59:59.999Z")) == 10
    assert values(endingTimestamp="1960-01-01T00:00:00Z") == []
    frame = read(topic, valueFormat="string")
    assert [row["value"] for row in frame.where("offset >= 8 and partition = 0").collect()] == ["8", "9"]
    assert frame.where("partition = 1").count() == 0
    assert [row["value"] for row in frame.where("timestamp > '1970-01-01 00:00:08.5'").collect()] == ["9"]


def test_records_that_cannot_be_decoded_fail_are_skipped_or_shown(read: Read, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "broken")
    produce(settings, topic, [*avro(settings, topic, AVRO_1, {"id": 1}), b"no avro"])
    with pytest.raises(PySparkException, match=f"{topic}-0 offset 1 can't be decoded"):
        read(topic).collect()
    assert [row["value"]["id"] for row in read(topic, mode="skip").collect()] == [1]
    good, bad = read(topic, mode="column").orderBy("offset").collect()
    assert (good["_error"], bad["value"]) == (None, None)
    assert "magic byte" in bad["_error"]


def test_a_stream_continues_from_its_checkpoint_in_limited_batches(
    read: Read, spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "stream", 2)

    def drain() -> tuple[list[int], list[int]]:
        frame = read(topic, stream=True, valueFormat="string", startingOffsets="earliest", maxOffsetsPerTrigger=4)
        query = (
            frame.select("value")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        lags = [
            lag_of(progress.sources[0].endOffset, progress.sources[0].latestOffset) for progress in query.recentProgress
        ]
        return [progress.numInputRows for progress in query.recentProgress], [lag[topic] for lag in lags]

    write(settings, topic, [(number % 2, str(number)) for number in range(10)])
    counts, lags = drain()
    assert sum(counts) == 10
    assert max(counts) <= 4
    assert lags == sorted(lags, reverse=True)
    assert lags[0] > lags[-1] == 0
    write(settings, topic, [(0, "10"), (1, "11")])
    drain()
    result = read_parquet(tmp_path / "out")
    assert sorted(result, key=int) == [str(number) for number in range(12)]
    values = SparkMetrics(spark).values()
    sizes = [len(f"key-{number}{number}") for number in range(12)]
    assert (values["records_read"][topic], values["bytes_read"][topic]) == (12, sum(sizes))


def read_parquet(folder: Path) -> list[str]:
    session = SparkSession.getActiveSession()
    assert session is not None
    return [row["value"] for row in session.read.parquet(str(folder)).collect()]


def test_a_store_of_records_has_the_columns_of_its_contract_and_only_committed_rows(
    spark: SparkSession, settings: KafkaSettings
) -> None:
    application = new_name("stores")
    topic = f"{application}-user-profiles-changelog"
    TopicAdmin(settings).create([TopicSpec(topic, 2, {"cleanup.policy": "compact"})])
    contract = load_contract("user-sessions", "UserProfile")
    schema_id = shared_registry(settings.registry()).register(f"{topic}-value", contract).schema_id

    def profile(total: int) -> bytes:
        empty = {"array": ["a"], "map": {"view": total}, "long": total}
        value = {
            field["name"]: None
            if isinstance(kind := field["type"], list)
            else empty[kind if kind == "long" else kind["type"]]
            for field in json.loads(contract.text)["fields"]
        }
        return header(schema_id) + _written(json.loads(contract.text), value)

    written: list[tuple[bool, list[tuple[str, bytes | None]]]] = [
        (True, [("ann", profile(1)), ("bob", profile(2)), ("cid", profile(3))]),
        (True, [("ann", profile(4)), ("bob", None)]),
        (False, [("ann", profile(5)), ("dan", profile(6))]),
    ]
    producer = transactional(settings, f"{topic}-writer")
    for commits, records in written:
        producer.begin_transaction()
        for key, data in records:
            producer.produce(topic, data, key, 0, timestamp=7)
        producer.flush(30)
        producer.commit_transaction(30) if commits else producer.abort_transaction(30)
    frame = (
        spark.read.format("forebay")
        .options(application=application, store="user-profiles", service="user-sessions")
        .options(bootstrapServers=settings.bootstrap_servers, schemaRegistryUrl=settings.schema_registry_url)
        .load()
    )
    rows = frame.orderBy("key").select("key", "value.total_sessions", "value.actions_count", "value.current_session")
    assert [tuple(row) for row in rows.collect()] == [("ann", 4, {"view": 4}, None), ("cid", 3, {"view": 3}, None)]
    assert frame.select("value.devices_used").first() == (["a"],)


def test_failed_records_of_an_application_have_typed_error_columns(
    spark: SparkSession, settings: KafkaSettings
) -> None:
    application = new_name("failing")
    topic = f"{application}.errors"
    TopicAdmin(settings).create([TopicSpec(topic, 1)])
    good = avro(settings, "orders", AVRO_1, {"id": 1})
    facts = {"class": "DecodeError", "message": "bad", "stage": "decode", "topic": "orders", "partition": "3"}
    facts |= {"offset": "7", "timestamp": "5000", "service": "sums"}
    own = [(f"error.{name}", text.encode()) for name, text in facts.items()]
    produce(settings, topic, [*good, b"no avro"], headers=[("trace", b"x"), *own])
    frame = (
        spark.read.format("forebay")
        .options(application=application, records="errors", valueSubject="orders-value", mode="column")
        .options(bootstrapServers=settings.bootstrap_servers, schemaRegistryUrl=settings.schema_registry_url)
        .load()
    )
    columns = "class", "message", "stage", "topic", "partition", "offset", "unix_millis(error.timestamp)", "service"
    chosen = [name if "(" in name else f"error.{name}" for name in columns]
    rows = frame.orderBy("offset").selectExpr("value.id", "_error IS NULL", *chosen).collect()
    facts_of_row = ("DecodeError", "bad", "decode", "orders", 3, 7, 5_000, "sums")
    assert [tuple(row) for row in rows] == [(1, True, *facts_of_row), (None, False, *facts_of_row)]


def test_invalid_options_are_refused_with_a_remedy(read: Read, spark: SparkSession, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "mistakes")
    for options, message in (
        ({"subscribe": f"{topic}s"}, f"has no topic {topic}s; did you mean '{topic}'"),
        ({"valueFormat": "csv"}, "valueFormat is csv: write one of auto"),
        ({"startingOffset": "earliest"}, "there is no option startingoffset; did you mean 'startingOffsets'"),
        ({}, f"no subject {topic}-value: name it"),
        ({"valueFormat": "string", "startingOffsets": json.dumps({topic: {"5": 1}})}, f"add {topic}-0; {topic}-5"),
        ({"valueFormat": "string", "endingOffsets": json.dumps({topic: {"0": 1}})}, "its committed records end at"),
    ):
        given = {"topic": topic, **options}
        subscribe = given.pop("subscribe", given.pop("topic"))
        given.pop("topic", None)
        with pytest.raises(PySparkException) as raised:
            read(subscribe, **given).collect()
        assert message in str(raised.value)
    # Values of text don't need a registry.
    reader = spark.read.format("forebay").options(subscribe=topic, valueFormat="string")
    reader.options(bootstrapServers=settings.bootstrap_servers)
    assert reader.load().count() == 0
    with pytest.raises(PySparkException, match=r"leave .schema\(...\) out"):
        reader.schema("a int").load().collect()
    endless = read(topic, stream=True, valueFormat="string", endingOffsets="latest").writeStream.format("noop")
    query = endless.trigger(availableNow=True).start()
    with pytest.raises(PySparkException, match="a stream has no end"):
        query.awaitTermination()


def test_a_pattern_matches_no_internal_topic(read: Read, settings: KafkaSettings) -> None:
    # A transaction makes the broker create its internal topic of transactions.
    topic = new_topic(settings, "pattern")
    produce(settings, topic, [b"a"])
    assert any(name.startswith("__") for name in TopicAdmin(settings).names())
    end = topic.rpartition("-")[2]
    rows = read("", subscribePattern=f"(__.*|.*{end})", valueFormat="bytes").select("topic").distinct().collect()
    assert [row["topic"] for row in rows] == [topic]


def test_offsets_that_are_gone_stop_a_stream_or_are_left_out(
    read: Read, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "gone")

    def drain(fails: str) -> None:
        frame = read(topic, stream=True, valueFormat="string", startingOffsets="earliest", failOnDataLoss=fails)
        writer = frame.select("value").writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    produce(settings, topic, [b"1", b"2", b"3"])
    drain("true")
    TopicAdmin(settings).delete([topic])
    TopicAdmin(settings).create([TopicSpec(topic, 1)])
    produce(settings, topic, [b"4"])
    with pytest.raises(PySparkException, match=f"{topic}-0 ends at offset 2, but the query has read up to offset 4"):
        drain("true")
    drain("false")
    assert sorted(read_parquet(tmp_path / "out")) == ["1", "2", "3", "4"]


def test_time_of_day_columns_work_in_any_session(read: Read, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "times")
    schema = {"type": "record", "name": "T", "fields": [{"name": "t", "type": {"type": "int"}}]}
    values = avro(settings, topic, schema, {"t": 3_600_000})
    schema["fields"][0]["type"]["logicalType"] = "time-millis"  # type: ignore[index]
    avro(settings, topic, schema)
    produce(settings, topic, [*values])
    frame = read(topic)
    assert (frame.count(), frame.select("value.t").first()) == (1, (time(1),))
