"""CPU time and throughput of a job that processes a backlog of a service's events exactly once.

    python -m benchmarks.backlog [SERVICE ...] [--events 2000000] [--keys 1000 --keys 100000]

CPU time is that of the job's whole process tree, including the start of the JVM, in microseconds per event. The
reference in the same run is a process that only consumes and decodes the same records. If a service has several inputs,
they have the same number of events.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from confluent_kafka import Consumer, TopicPartition

from benchmarks.bench import JobProcess, platform
from forebay.catalog import Service, find_service
from forebay.codec import Codec
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.producing.base import Options
from forebay.producing.run import produce
from forebay.producing.sources import source_of


@click.command()
@click.argument("services", nargs=-1)
@click.option("--events", default=2_000_000, help="Records of the backlog.")
@click.option("--keys", multiple=True, default=(1_000, 100_000), help="Keys; 100,000 for user-sessions only.")
@click.option("--arguments", default="", help="Further arguments of `forebay run`.")
def main(services: tuple[str, ...], events: int, keys: tuple[int, ...], arguments: str) -> None:
    """Run the benchmark."""
    for name in services or ("user-sessions",):
        service = find_service(name)
        for count in keys:
            with platform(service.name) as (home, kafka):
                fill(kafka, service, events, count)
                reference_us, reference_s = reference(kafka, service, events)
                print(f"{name}: {events:,} events, {count:,} keys, 4 partitions")
                print(
                    f"  reference (consume and decode): {reference_us:.1f} us CPU per event, "
                    f"{events / reference_s:,.0f}/s"
                )
                measure(home, service, events, reference_us, arguments.split())


def fill(kafka: KafkaSettings, service: Service, events: int, keys: int) -> None:
    """Write the backlog to the input topics."""
    share = events // len(service.inputs)
    for topic, codec in codecs(kafka, service).items():
        options = Options(rate=0, count=share, keys=keys, seed=1)
        produce(topic, options, kafka.producer(), codec, lambda _subject, _text: 0)


def codecs(kafka: KafkaSettings, service: Service) -> dict[str, Codec[object]]:
    """Return the codec of each input."""
    registry = SchemaRegistry(kafka.registry())
    codecs: dict[str, Codec[object]] = {}
    for topic in service.inputs:
        source = source_of(topic.name)
        contract = register_contract(registry, source.service, source.contract, topic.name)
        codecs[topic.name] = registry_codec(kafka, source.service, source.record_type, contract.schema_id)
    return codecs


def reference(kafka: KafkaSettings, service: Service, events: int) -> tuple[float, float]:
    """Consume and decode all records. Return CPU time (µs per event) and elapsed seconds."""
    decoders = {topic: codec.decode for topic, codec in codecs(kafka, service).items()}
    consumer = Consumer(kafka.consumer(**{"group.id": "bench-reference"}))
    consumer.assign([TopicPartition(topic, partition, 0) for topic in decoders for partition in range(4)])
    wanted = events // len(decoders) * len(decoders)
    seen, cpu, wall = 0, time.process_time(), time.perf_counter()
    while seen < wanted:
        for message in consumer.consume(5_000, 1.0):
            value, topic = message.value(), message.topic()
            if message.error() is None and value is not None and topic is not None:
                decoders[topic](value)
                seen += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    consumer.close()
    return cpu / events * 1e6, wall


def measure(home: Path, service: Service, events: int, reference_us: float, arguments: list[str]) -> None:
    """Run the job on the backlog and print the measurements."""
    job = JobProcess(home, service.name, "--trigger", "available-now", *arguments)
    seconds = job.wait()
    us = {kind: cpu / events * 1e6 for kind, cpu in job.usage.cpu.items()}
    total = sum(us.values())
    logic = job.value("forebay_task_cpu_seconds_total", phase="process") / events * 1e6
    print(
        f"  job: {total:.1f} us CPU per event = {total / reference_us:.1f} x reference, "
        f"{events / seconds:,.0f}/s while it ran"
    )
    print(f"    JVM {us.get('jvm', 0):.1f}, Python workers {us.get('python', 0):.1f}, driver {us.get('driver', 0):.1f}")
    print(
        f"    workers' loops: decoding, state logic, encoding {logic:.1f}; the rest of the workers is reading, sending,"
        " snapshots, librdkafka's threads and Python's start"
    )
    print(
        f"    peak memory {job.usage.peak_bytes / 2**20:,.0f} MiB, "
        f"{job.value('forebay_records_out_total', kind='output'):,.0f} outputs"
    )


if __name__ == "__main__":
    main(standalone_mode=False)
