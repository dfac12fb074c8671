"""CPU time per row, and rows per second, of the format `forebay`, as multiples of those of a plain client.

Reading is compared with a consumer, and writing with a producer and its transactions. Both clients use fastavro. Each
side runs with N and with 2N rows. The difference between the two does not contain the time of the start. CPU time is
that of Spark's and Python's processes, without the broker. On a busy machine, the time to start a JVM varies by
seconds. Use an idle machine and enough rows.

    python -m benchmarks.spark_doors 100000
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastavro
import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from pyspark.sql import SparkSession

import forebay.spark
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Platform
from forebay.serde.framing import HEADER_BYTES, header
from forebay.serde.schema import Schema

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "price", "type": "double"},
        {"name": "note", "type": ["null", "string"]},
    ],
}
COLUMNS = "concat('k', id % 1000) k", "id", "concat('customer-', id % 997) customer", "id / 7.0D price"
PARTITIONS = 2
SECONDS = 60.0
SAMPLE_SECONDS = 0.1


def session() -> SparkSession:
    """Return a session with the registered format."""
    builder: Any = SparkSession.builder
    spark: SparkSession = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    forebay.spark.register(spark)
    return spark


def stop(spark: SparkSession) -> None:
    """End the session and its JVM, so that the JVM's CPU time is counted."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def connection(settings: KafkaSettings) -> dict[str, str]:
    """Return the options of the connection."""
    return {"bootstrapServers": settings.bootstrap_servers, "schemaRegistryUrl": settings.schema_registry_url}


def read_by_spark(settings: KafkaSettings, topic: str, rows: int) -> None:
    """Read the rows, with the same number of rows from each partition."""
    spark = session()
    ends = json.dumps({topic: {str(number): rows // PARTITIONS for number in range(PARTITIONS)}})
    frame = spark.read.format("forebay").options(**connection(settings), subscribe=topic, endingOffsets=ends).load()
    frame.select("key", "value.*").write.format("noop").mode("overwrite").save()
    stop(spark)


def read_by_consumer(settings: KafkaSettings, topic: str, rows: int) -> None:
    """Read the same rows, one partition after the other."""
    schema = fastavro.parse_schema(ORDER)
    for number in range(PARTITIONS):
        consumer = Consumer(settings.consumer())
        consumer.assign([TopicPartition(topic, number, 0)])
        left = rows // PARTITIONS
        while left:
            for message in consumer.consume(min(left, 2_000), 1.0):
                error = message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    continue
                fastavro.schemaless_reader(io.BytesIO((message.value() or b"")[HEADER_BYTES:]), schema, None)
                left -= 1
        consumer.close()


def write_by_spark(settings: KafkaSettings, topic: str, rows: int) -> None:
    """Write the number of rows in two transactions."""
    spark = session()
    frame = spark.range(0, rows, 1, PARTITIONS).selectExpr(*COLUMNS, "CAST(NULL AS STRING) note")
    options = {**connection(settings), "topic": topic, "keyColumns": "k", "keyFormat": "string"}
    frame.write.format("forebay").mode("append").options(**options).save()
    stop(spark)


def write_by_producer(settings: KafkaSettings, topic: str, rows: int) -> None:
    """Write the same rows in two transactions."""
    schema = fastavro.parse_schema(ORDER)
    framing = header(_register(settings, topic))
    for part in range(PARTITIONS):
        producer = Producer(settings.producer(**{"transactional.id": uuid.uuid4().hex}))
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        for number in range(part * rows // PARTITIONS, (part + 1) * rows // PARTITIONS):
            value = {"id": number, "customer": f"customer-{number % 997}", "price": number / 7, "note": None}
            data = io.BytesIO()
            data.write(framing)
            fastavro.schemaless_writer(data, schema, value)
            while True:
                try:
                    producer.produce(topic, data.getvalue(), f"k{number % 1000}")
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.commit_transaction(SECONDS)


SIDES: Mapping[str, Callable[[KafkaSettings, str, int], None]] = {
    "read": read_by_spark,
    "consumer": read_by_consumer,
    "write": write_by_spark,
    "producer": write_by_producer,
}


def _register(settings: KafkaSettings, topic: str) -> int:
    return SchemaRegistry(settings.registry()).register(f"{topic}-value", Schema(json.dumps(ORDER))).schema_id


def create_topic(settings: KafkaSettings, name: str) -> str:
    """Create a topic with the schema of its values."""
    TopicAdmin(settings).create([TopicSpec(name, PARTITIONS)])
    _register(settings, name)
    return name


def fill_topic(settings: KafkaSettings, name: str, rows: int) -> None:
    """Write the same number of rows to each partition, without transactions, whose markers would occupy offsets."""
    schema, framing = fastavro.parse_schema(ORDER), header(_register(settings, name))
    producer = Producer(settings.producer())
    for number in range(rows):
        data = io.BytesIO()
        data.write(framing)
        value = {"id": number, "customer": f"customer-{number % 997}", "price": number / 7, "note": None}
        fastavro.schemaless_writer(data, schema, value)
        producer.produce(name, data.getvalue(), f"k{number % 1000}", number % PARTITIONS)
        if number % 10_000 == 0:
            producer.flush(SECONDS)
    assert producer.flush(SECONDS) == 0


def measure(side: str, settings: KafkaSettings, topic: str, rows: int) -> tuple[float, float]:
    """Return the CPU time and the elapsed time of a run, of all its processes."""
    begin = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.spark_doors", side, topic, str(rows), *connection(settings).values()]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    # Spark kills its Python workers without waiting for them, so the CPU time of child processes does not include
    # theirs. It is therefore sampled while the workers run.
    seconds: dict[int, float] = {}
    root = psutil.Process(driver.pid)
    while driver.poll() is None:
        with suppress(psutil.NoSuchProcess):
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    seconds[process.pid] = times.user + times.system
        time.sleep(SAMPLE_SECONDS)
    elapsed = time.monotonic() - begin
    if driver.returncode:
        raise subprocess.CalledProcessError(driver.returncode, command)
    return sum(seconds.values()), elapsed


def compare(rows: int) -> None:
    """Measure all sides in turn, and print them."""
    with tempfile.TemporaryDirectory() as folder, Platform(Path(folder)) as platform:
        endpoints = platform.up()
        settings = KafkaSettings(
            bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
        )
        source = create_topic(settings, "bench-source")
        fill_topic(settings, source, 2 * rows)
        results: dict[str, tuple[float, float]] = {}
        for side in SIDES:
            topics = [source] * 2 if side in ("read", "consumer") else [f"bench-{side}-{count}" for count in (1, 2)]
            for topic in topics:
                create_topic(settings, topic)
            (cpu, wall), (cpu_2, wall_2) = (
                measure(side, settings, topic, count * rows) for count, topic in enumerate(topics, 1)
            )
            if cpu_2 <= cpu or wall_2 <= wall:
                sys.exit(
                    f"{side}: the start of Spark varied more than {rows} rows take: take more rows, or an idle machine"
                )
            results[side] = (cpu_2 - cpu) / rows * 1e6, (wall_2 - wall) / rows * 1e6
            print(f"{side}: {results[side][0]:.1f} us of CPU per row, {1e6 / results[side][1]:,.0f} rows/s", flush=True)
        for side, plain in (("read", "consumer"), ("write", "producer")):
            ratio = results[side][0] / results[plain][0]
            print(f"{side}: {ratio:.1f} times the CPU per row of the plain {plain}")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        compare(int(sys.argv[1]))
    else:
        side, topic, rows, servers, registry = sys.argv[1:]
        SIDES[side](KafkaSettings(bootstrap_servers=servers, schema_registry_url=registry), topic, int(rows))
