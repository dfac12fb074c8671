"""Queries of the sink for tests, with a driver process, a source of files, and the topic that it writes."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.spark import register


def session(cores: int = 2, partitions: int = 3) -> SparkSession:
    """Return a session with the registered format `forebay`."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").appName("sink")
    spark = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(partitions))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stopTimeout", "60s")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    return spark


def options_of(settings: KafkaSettings, topic: str, **more: str) -> dict[str, str]:
    """Return the options of a write."""
    return {
        "topic": topic,
        "bootstrapServers": settings.bootstrap_servers,
        "schemaRegistryUrl": settings.schema_registry_url,
        "keyColumns": "k",
        "keyFormat": "string",
        "valueFormat": "avro",
        "registerSchema": "true",
        **more,
    }


def write_files(folder: Path, files: int, rows: int, first: int = 0) -> None:
    """Write files of rows with ids from `first` on."""
    folder.mkdir(exist_ok=True)
    for index in range(files):
        begin = first + index * rows
        lines = [json.dumps({"k": f"k{number % 17}", "id": number}) for number in range(begin, begin + rows)]
        target = folder / f"{begin:09d}.json"
        target.with_suffix(".tmp").write_text("\n".join(lines))
        target.with_suffix(".tmp").rename(target)


def read_files(spark: SparkSession, folder: Path, partitions: int = 3) -> DataFrame:
    """Return the files as a stream, one file per batch, divided into partitions by key."""
    stream = spark.readStream.schema("k string, id long").option("maxFilesPerTrigger", 1)
    return stream.option("pathGlobFilter", "*.json").json(str(folder)).repartition(partitions, "k")


def start(frame: DataFrame, options: dict[str, str], checkpoint: Path) -> StreamingQuery:
    """Start a query that ends once it has written all files."""
    writer = frame.writeStream.format("forebay").options(**options).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def run(frame: DataFrame, options: dict[str, str], checkpoint: Path) -> StreamingQuery:
    """Run a query until it has written all files. Raises StreamingQueryException."""
    query = start(frame, options, checkpoint)
    query.awaitTermination()
    return query


def forget_last_commit(checkpoint: Path) -> int:
    """Delete the latest batch from Spark's log of completed batches, as if a kill had prevented the entry."""
    commits = checkpoint / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    return last


def messages(settings: KafkaSettings, topic: str, **overrides: Any) -> list[Message]:
    """Return the committed records of a topic."""
    return [message for part in read_topic(settings, topic, **overrides).values() for message in part]


def ids(settings: KafkaSettings, topic: str, **overrides: Any) -> Counter[int]:
    """Return the number of occurrences of each id in a topic, whose records have the schema {k, id} or {id}."""
    counts: Counter[int] = Counter()
    for message in messages(settings, topic, **overrides):
        counts[_zigzag(message.value() or b"")] += 1
    return counts


def _zigzag(value: bytes) -> int:
    """Return the long at the end of an Avro body {"id": ["null", "long"]}, after the header and the branch."""
    number, shift = 0, 0
    for byte in value[6:]:
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1)


if __name__ == "__main__":
    # A driver process that tests kill. Its settings are JSON on the command line.
    given = json.loads(sys.argv[1])
    spark_session = session(given["cores"], given["partitions"])
    print("started", flush=True)
    run(
        read_files(spark_session, Path(given["folder"]), given["partitions"]),
        given["options"],
        Path(given["checkpoint"]),
    )
    print("done", flush=True)
