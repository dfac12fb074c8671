"""forebay ksml produce: run the producers of definitions."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Producer as KafkaProducer

from forebay.catalog import Topic
from forebay.cli.connection import connect, connection_options
from forebay.cli.ksml_files import create_option, create_topics, files_options
from forebay.cli.signals import stop_requests
from forebay.cli.watched_files import watch_given_folder
from forebay.codec import Codec
from forebay.kafka.registry import shared_registry, subject_of
from forebay.kafka.settings import KafkaSettings
from forebay.ksml.mounting import files_of, read_all
from forebay.ksml.producers import Producer, producers_of
from forebay.ksml.registered import NEEDED, URL
from forebay.runtime.process.logs import configure_logging
from forebay.serde import AvroCodec, Schema

_FLUSH_S = 30.0
_LONGEST_WAIT_S = 0.5


@click.command(
    epilog="""\b
Examples:
  forebay ksml produce producers.yaml
  forebay ksml produce producers.yaml --no-create-topics"""
)
@files_options
@create_option
@connection_options
def produce(
    files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...], create: bool, **connection: Any
) -> None:
    """Run the producers of definitions at their intervals, until all are done or Ctrl-C."""
    configure_logging("text")
    settings = connect(**connection)
    os.environ[URL] = settings.schema_registry_url
    files_read = read_all(files_of(files), schemas, modules, NEEDED)
    producers = [
        producer for definition in files_read.files for producer in producers_of(definition, files_read.formats)
    ]
    if not producers:
        raise click.UsageError("there is no producer in these files: write one under producers:")
    if not all(producer.ends for producer in producers):
        watch_given_folder()
    if create:
        for line in create_topics(settings, [Topic(producer.topic) for producer in producers]):
            click.echo(line)
    codecs = [producer.codecs(_contracts(settings, producer, files_read.formats.contracts)) for producer in producers]
    with stop_requests() as stop:
        counts = send(producers, codecs, KafkaProducer(settings.producer()), stop)
    for producer, count in zip(producers, counts, strict=True):
        click.echo(f"{producer.name}: {count:,} records to {producer.topic}")


def send(
    producers: Sequence[Producer],
    codecs: Sequence[tuple[Codec[Any], Codec[Any]]],
    kafka: KafkaProducer,
    stop: threading.Event,
) -> list[int]:
    """Send the producers' records until all are done or `stop` is set. Return the number of records of each."""
    counts = [0] * len(producers)
    begun = time.monotonic()
    due = [(begun, number) for number in range(len(producers))]
    while due and not stop.is_set():
        at, number = due[0]
        wait = at - time.monotonic()
        if wait > 0:
            stop.wait(min(wait, _LONGEST_WAIT_S))
            continue
        producer, (keys, values) = producers[number], codecs[number]
        for record in producer.batch():
            key = None if record.key is None else keys.encode(record.key)
            value = None if record.value is None else values.encode(record.value)
            count = (
                len(kafka.list_topics(record.topic).topics[record.topic].partitions) if producer.has_partitioner else 0
            )
            for partition in producer.partitions(record, count):
                _queue(kafka, record.topic, key, value, -1 if partition is None else partition)
            counts[number] += 1
        if producer.is_done:
            heapq.heappop(due)
        else:
            heapq.heapreplace(due, (max(at + producer.interval_ms / 1_000, begun), number))
    left = kafka.flush(_FLUSH_S)
    if left:
        raise click.ClickException(
            f"the broker did not accept {left:,} records within {_FLUSH_S:.0f} s: check that it runs and accepts "
            "records of this size"
        )
    return counts


def _queue(kafka: KafkaProducer, topic: str, key: bytes | None, value: bytes | None, partition: int) -> None:
    while True:
        try:
            kafka.produce(topic, value, key, partition, timestamp=time.time_ns() // 1_000_000)
        except BufferError:
            kafka.poll(0.1)
        else:
            kafka.poll(0)
            return


def _contracts(
    settings: KafkaSettings, producer: Producer, contracts: Mapping[str, str]
) -> Callable[[type[Any]], Codec[Any]]:
    """Return a function that returns a record class's codec, and registers its schema for the topic's values."""

    def codec(record: type[Any]) -> Codec[Any]:
        registry = shared_registry(settings.registry())
        schema = Schema(contracts[record.__name__])
        return AvroCodec(record, registry.register(subject_of(producer.topic), schema), registry)

    return codec
