"""The exactly-once sink on a real broker writes batches and streams that are repeated, killed, fenced or refused."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from own_jvm import own_jvm
from own_topics import new_name, new_topic, settings_of
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from spark_sink import forget_last_commit, ids, messages, options_of, read_files, run, session, write_files
from topic_reading import Decoder, headers_of

from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.serde.schema import Schema
from forebay.spark.metrics import SparkMetrics
from forebay.spark.sink_markers import Markers
from forebay.spark.sink_records import SinkRecord
from forebay.spark.sink_transaction import AttemptFenced, BatchRefused, PartitionWriter


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with own_jvm():
        created = session()
        yield created
        created.stop()


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return settings_of(endpoints)


def once(count: int, first: int = 0) -> Counter[int]:
    return Counter(range(first, first + count))


def save(spark: SparkSession, options: dict[str, str], count: int, first: int = 0, partitions: int = 3) -> None:
    frame = spark.range(first, first + count).selectExpr("concat('k', id % 17) k", "nullif(id, -1) id")
    frame.repartition(partitions, "k").write.format("forebay").mode("append").options(**options).save()


def test_a_stream_is_written_once(spark: SparkSession, settings: KafkaSettings, tmp_path: Path) -> None:
    topic = new_topic(settings, "sink", 2)
    write_files(tmp_path / "in", 3, 100)
    query = run(read_files(spark, tmp_path / "in"), options_of(settings, topic), tmp_path / "checkpoint")
    assert ids(settings, topic) == once(300)
    (marker, *_) = Markers(settings, topic, f"forebay-sink-{query.id}").read_all().values()
    assert (marker.batch, marker.run) == (2, str(query.runId))
    amounts = {name: amount[topic] for name, amount in SparkMetrics(spark).values().items() if topic in amount}
    size = sum(len(message.key() or b"") + len(message.value() or b"") for message in messages(settings, topic))
    assert (amounts["rows_written"], amounts["bytes_written"]) == (300, size)
    assert (amounts["rows_verified"], amounts["retries"]) == (0, 0)
    assert 3 <= amounts["commits"] <= 9
    assert amounts["commit_seconds"] > 0


def test_a_batch_that_spark_repeats_is_not_written_twice(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "sink", 2)
    folder, checkpoint, options = tmp_path / "in", tmp_path / "checkpoint", options_of(settings, topic)
    write_files(folder, 2, 100)
    run(read_files(spark, folder), options, checkpoint)
    for _ in range(2):
        last = forget_last_commit(checkpoint)
        query = run(read_files(spark, folder), options, checkpoint)
        markers = Markers(settings, topic, f"forebay-sink-{query.id}").read_all()
        assert {(marker.batch, marker.run) for marker in markers.values()} == {(last, str(query.runId))}
        assert ids(settings, topic) == once(200)
    write_files(folder, 1, 100, 200)
    run(read_files(spark, folder), options, checkpoint)
    assert ids(settings, topic) == once(300)


def test_a_repeated_batch_that_was_committed_in_part_is_completed(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    """In the first run, one partition fails because a row raises an error."""
    topic = new_topic(settings, "sink", 2)
    write_files(tmp_path / "in", 1, 100)
    options, checkpoint = options_of(settings, topic), tmp_path / "checkpoint"
    frame = read_files(spark, tmp_path / "in")
    broken = frame.withColumn(
        "id", f.when(f.col("id") == 50, f.raise_error(f.lit("broken")).cast("long")).otherwise(f.col("id"))
    )
    with pytest.raises(PySparkException, match="broken"):
        run(broken, options, checkpoint)
    first = ids(settings, topic)
    assert 50 not in first
    run(frame, options, checkpoint)
    assert ids(settings, topic) == once(100)


def test_a_repeated_batch_in_other_partitions_is_refused_before_it_is_written(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "sink", 2)
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    options = options_of(settings, topic, repeatTimeoutMs="2000")
    write_files(folder, 1, 100)
    run(read_files(spark, folder, 3), options, checkpoint)
    for partitions in (2, 5, 1):
        forget_last_commit(checkpoint) if (checkpoint / "commits" / "0").exists() else None
        with pytest.raises(PySparkException, match="number of partitions that it had"):
            run(read_files(spark, folder, partitions), options, checkpoint)
        assert ids(settings, topic) == once(100)
    run(read_files(spark, folder, 3), options, checkpoint)
    assert ids(settings, topic) == once(100)


def test_a_checkpoint_older_than_the_topic_is_refused(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "sink", 2)
    folder, checkpoint, options = tmp_path / "in", tmp_path / "checkpoint", options_of(settings, topic)
    write_files(folder, 2, 50)
    run(read_files(spark, folder), options, checkpoint)
    forget_last_commit(checkpoint)
    forget_last_commit(checkpoint)
    for log in ("offsets", "sources/0"):
        (checkpoint / log / "1").unlink()
        (checkpoint / log / ".1.crc").unlink(missing_ok=True)
    with pytest.raises(PySparkException, match="the checkpoint is older than the topic"):
        run(read_files(spark, folder), options, checkpoint)
    assert ids(settings, topic) == once(100)


def test_missing_markers_stop_the_query_unless_an_option_allows_writing(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path
) -> None:
    topic = new_topic(settings, "sink", 2)
    folder, checkpoint, options = tmp_path / "in", tmp_path / "checkpoint", options_of(settings, topic)
    write_files(folder, 1, 50)
    run(read_files(spark, folder), options, checkpoint)
    write_files(folder, 1, 50, 50)
    moved = {**options, "transactionalIdPrefix": new_name("other")}
    with pytest.raises(PySparkException, match="so nothing says whether the batch was written"):
        run(read_files(spark, folder), moved, checkpoint)
    assert ids(settings, topic) == once(50)
    run(read_files(spark, folder), {**moved, "missingMarkers": "write"}, checkpoint)
    assert ids(settings, topic) == once(100)


def writer(markers: Markers, run_name: str, batch: int = 0, **more: Any) -> PartitionWriter:
    return PartitionWriter(markers=markers, partition=1, batch=batch, run=run_name, **more)


def records(count: int, first: int = 0) -> list[SinkRecord]:
    return [SinkRecord(b"key", b"%d" % number, None, 0, 0) for number in range(first, first + count)]


def values(settings: KafkaSettings, topic: str, **overrides: str) -> list[bytes]:
    return [message.value() or b"" for message in messages(settings, topic, **overrides)]


def test_a_task_that_is_repeated_after_its_commit_writes_nothing(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))
    first, second = (writer(markers, "run").write(records(3)) for _ in range(2))
    assert (first.rows, first.is_written, first.size) == (3, True, 12)
    assert (second.rows, second.is_written, second.commit_seconds) == (3, False, 0)
    assert values(settings, topic) == [b"0", b"1", b"2"]
    with pytest.raises(BatchRefused, match="an earlier attempt committed 3 rows, now there are 4"):
        writer(markers, "run").write(records(4))
    with pytest.raises(BatchRefused, match="or their content differs"):
        writer(markers, "run").write(records(3, 1))
    with pytest.raises(BatchRefused, match="now there are 0"):
        writer(markers, "run").write([])
    assert values(settings, topic) == [b"0", b"1", b"2"]


def test_a_zombie_attempt_is_fenced_and_nothing_of_it_is_seen(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))

    def overtake() -> Iterator[SinkRecord]:
        yield from records(2)
        assert writer(markers, "run").write(records(4)).rows == 4
        yield from records(2, 2)

    with pytest.raises(AttemptFenced, match="another attempt of this task has taken over"):
        writer(markers, "run").write(overtake())
    assert values(settings, topic) == [b"0", b"1", b"2", b"3"]


def test_a_killed_attempt_s_open_transaction_is_aborted_by_the_next_one(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))
    killed = Producer(settings.producer(**{"transactional.id": markers.name(1), "transaction.timeout.ms": 600_000}))
    killed.init_transactions(20)
    killed.begin_transaction()
    killed.produce(topic, b"never committed", b"key")
    assert killed.flush(20) == 0
    consumer = markers.consumer(1)
    killed.send_offsets_to_transaction([_marker(topic)], consumer.consumer_group_metadata(), 20)
    consumer.close()
    assert writer(markers, "run").write(records(2)).rows == 2
    assert values(settings, topic) == [b"0", b"1"]
    assert b"never committed" in values(settings, topic, **{"isolation.level": "read_uncommitted"})


def test_a_killed_task_of_another_partition_blocks_no_batch(settings: KafkaSettings) -> None:
    """The killed task leaves an open transaction, with an offset commit, that lasts ten more minutes."""
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))
    PartitionWriter(markers=markers, partition=2, batch=0, run="first").write(records(1))
    killed = Producer(settings.producer(**{"transactional.id": markers.name(2), "transaction.timeout.ms": 600_000}))
    killed.init_transactions(20)
    killed.begin_transaction()
    consumer = markers.consumer(2)
    killed.send_offsets_to_transaction([_marker(topic)], consumer.consumer_group_metadata(), 20)
    consumer.close()
    assert writer(markers, "second", batch=1).write(records(2, 5)).rows == 2
    assert values(settings, topic) == [b"0", b"5", b"6"]


def _marker(topic: str) -> Any:
    from forebay.spark.sink_markers import Marker  # noqa: PLC0415

    return Marker(7, "killed", 1, "", (0, 0)).offset(topic)


def test_an_attempt_that_fails_is_aborted(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))

    def failing() -> Iterator[SinkRecord]:
        yield from records(2)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        writer(markers, "run").write(failing())
    with pytest.raises(Exception, match="Message size too large"):
        writer(markers, "run").write([*records(2), SinkRecord(None, b"x" * 5_000_000, None, 0, 0)])
    assert writer(markers, "run").write(records(1)).rows == 1
    assert values(settings, topic) == [b"0"]


def test_commits_of_another_run_are_verified_before_more_is_written(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink")
    markers = Markers(settings, topic, new_name("query"))
    other = PartitionWriter(markers=markers, partition=2, batch=0, run="first")
    other.write(records(2))
    with pytest.raises(BatchRefused, match="an earlier run committed the partitions 2 of this batch"):
        writer(markers, "second", repeat_seconds=1.0).write(records(1, 5))
    assert values(settings, topic) == [b"0", b"1"]
    verifying = PartitionWriter(markers=markers, partition=2, batch=0, run="second")
    assert verifying.write(records(2)).rows == 2
    assert writer(markers, "second", repeat_seconds=1.0).write(records(1, 5)).rows == 1
    assert values(settings, topic) == [b"0", b"1", b"5"]


def test_a_dataframe_is_written_once_however_often_the_job_runs_with_its_key(
    spark: SparkSession, settings: KafkaSettings
) -> None:
    topic = new_topic(settings, "sink", 2)
    keyed = options_of(settings, topic, idempotencyKey=new_name("load"))
    for _ in range(2):
        save(spark, keyed, 200)
        assert ids(settings, topic) == once(200)
    with pytest.raises(PySparkException, match="an earlier attempt committed"):
        save(spark, keyed, 200, 1)
    assert ids(settings, topic) == once(200)
    save(spark, options_of(settings, topic), 200)
    assert ids(settings, topic) == once(200) + once(200), "without a job id each job writes"


def test_a_job_that_failed_in_part_is_completed_by_its_repetition(spark: SparkSession, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink", 2)
    keyed = options_of(settings, topic, idempotencyKey=new_name("load"))
    save(spark, keyed, 0)
    frame = spark.range(100).selectExpr("concat('k', id % 17) k", "nullif(id, -1) id").repartition(3, "k")
    broken = frame.withColumn(
        "id", f.when(f.col("id") == 50, f.raise_error(f.lit("broken")).cast("long")).otherwise(f.col("id"))
    )
    keyed = options_of(settings, topic, idempotencyKey=new_name("load"))
    with pytest.raises(PySparkException, match="broken"):
        broken.write.format("forebay").mode("append").options(**keyed).save()
    assert 50 not in ids(settings, topic)
    save(spark, keyed, 100)
    assert ids(settings, topic) == once(100)


def test_key_headers_timestamp_and_partition_come_from_columns(spark: SparkSession, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink", 3)
    SchemaRegistry(settings.registry()).register(
        f"{topic}-key", Schema('{"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]}')
    )
    frame = spark.createDataFrame(
        [(7, "text", {"h": b"1"}, datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), 2)],
        "id int, v string, h map<string, binary>, t timestamp, p int",
    )
    options = options_of(settings, topic, keyColumns="id", keyFormat="avro", valueFormat="string")
    columns = {"headersColumn": "h", "timestampColumn": "t", "partitionColumn": "p", "registerSchema": "false"}
    frame.write.format("forebay").mode("append").options(**options | columns).save()
    (message,) = messages(settings, topic)
    assert Decoder(settings.schema_registry_url).decode(message.key() or b"") == {"id": 7}
    assert (message.value(), headers_of(message)) == (b"text", [("h", b"1")])
    assert (message.timestamp()[1], message.partition()) == (1_704_153_600_000, 2)


@pytest.mark.parametrize("name", ["avro", "json_schema", "protobuf"])
def test_every_format_is_registered_and_read_back(spark: SparkSession, settings: KafkaSettings, name: str) -> None:
    topic = new_topic(settings, "sink")
    columns = "k string, id bigint, price decimal(10,2), at timestamp, day date, raw binary"
    columns += ", tags array<string>, s struct<x: int>"
    moment = datetime.datetime(2024, 3, 31, 1, 30, 0, 123_456, tzinfo=datetime.UTC)
    row = ("a", 2**53 + 1, Decimal("1.25"), moment, datetime.date(2024, 1, 2), b"\0\xff", ["x"], (1,))
    frame = spark.createDataFrame([row], columns)
    options = options_of(settings, topic, valueFormat=name)
    frame.write.format("forebay").mode("append").options(**options).save()
    registry = SchemaRegistry(settings.registry())
    registered = registry.newest(f"{topic}-value")
    assert registered is not None
    (message,) = messages(settings, topic)
    assert (message.value() or b"")[:5] == b"\0" + registered.schema_id.to_bytes(4, "big")
    frame.write.format("forebay").mode("append").options(
        **options | {"registerSchema": "false", "valueFormat": "auto"}
    ).save()
    first, second = messages(settings, topic)
    assert first.value() == second.value()
    if name == "avro":
        decoded = Decoder(settings.schema_registry_url).decode(first.value() or b"")
        named = dict(zip(("id", "price", "at", "day", "raw", "tags"), row[1:], strict=False))
        assert decoded == {**named, "s": {"x": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topic": "no-such-topic"}, "there is no topic no-such-topic: create it"),
        ({"registerSchema": "false"}, "the registry has no schema for the subject"),
        ({"keyFormat": "long"}, "the format long takes one column of type BIGINT"),
        ({"keyColumns": "nokey"}, "the DataFrame has no column nokey"),
        ({"keyColumn": "k"}, "did you mean keyColumns"),
    ],
)
def test_values_that_do_not_fit_are_refused_before_a_record_is_written(
    spark: SparkSession, settings: KafkaSettings, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    topic = new_topic(settings, "sink", 2)
    with pytest.raises(PySparkException, match=message):
        save(spark, options_of(settings, topic) | change, 10)
    write_files(tmp_path / "in", 1, 10)
    with pytest.raises(PySparkException, match=message):
        run(read_files(spark, tmp_path / "in"), options_of(settings, topic) | change, tmp_path / "checkpoint")
    assert messages(settings, topic, **{"isolation.level": "read_uncommitted"}) == []


def test_columns_that_do_not_fit_the_subject_are_refused(spark: SparkSession, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink", 2)
    text = '{"type": "record", "name": "V", "fields": [{"name": "id", "type": "int"}]}'
    SchemaRegistry(settings.registry()).register(f"{topic}-value", Schema(text))
    with pytest.raises(PySparkException, match=r"the column id is BIGINT.*CAST\(id AS INT\) AS id"):
        save(spark, options_of(settings, topic), 10)
    assert messages(settings, topic, **{"isolation.level": "read_uncommitted"}) == []


def test_a_topic_can_not_be_overwritten(spark: SparkSession, settings: KafkaSettings) -> None:
    topic = new_topic(settings, "sink", 2)
    with pytest.raises(PySparkException, match=r'write mode\("append"\)'):
        spark.range(1).write.format("forebay").mode("overwrite").options(**options_of(settings, topic)).save()
