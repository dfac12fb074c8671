"""Drains a backlog of user_activity events, exactly once, every output written.

    python -m benchmarks.backlog [--events 2000000] [--users 1000 --users 100000]

CPU is that of the job's whole process tree (JVM start included), in microseconds per event. The reference, in the
same run, only consumes and decodes the same records, in one process.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from confluent_kafka import Consumer, TopicPartition

from benchmarks.bench import SERVICE, TOPIC, JobProcess, platform
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from producers.base import Options
from producers.run import produce
from user_sessions.model import UserActivity


@click.command()
@click.option("--events", default=2_000_000, help="Records of the backlog.")
@click.option("--users", multiple=True, default=(1_000, 100_000), help="Keys.")
@click.option("--arguments", default="", help="Further arguments of `forebay run`.")
def main(events: int, users: tuple[int, ...], arguments: str) -> None:
    """Measure."""
    for keys in users:
        with platform() as (home, kafka):
            fill(kafka, events, keys)
            reference_us, reference_s = reference(kafka, events)
            print(f"{events:,} events, {keys:,} users, 4 partitions")
            print(
                f"  reference (consume and decode): {reference_us:.1f} us CPU per event, {events / reference_s:,.0f}/s"
            )
            measure(home, events, reference_us, arguments.split())


def fill(kafka: KafkaSettings, events: int, keys: int) -> None:
    """Write the backlog."""
    schema_id = register_contract(SchemaRegistry(kafka.registry()), SERVICE, "UserActivity", TOPIC).schema_id
    codec = registry_codec(kafka, SERVICE, UserActivity, schema_id)
    produce(TOPIC, Options(rate=0, count=events, keys=keys, seed=1), kafka.producer(), codec, lambda _subject, _text: 0)


def reference(kafka: KafkaSettings, events: int) -> tuple[float, float]:
    """Consume and decode everything; give CPU microseconds per event and seconds."""
    schema_id = register_contract(SchemaRegistry(kafka.registry()), SERVICE, "UserActivity", TOPIC).schema_id
    decode = registry_codec(kafka, SERVICE, UserActivity, schema_id).decode
    consumer = Consumer(kafka.consumer(**{"group.id": "bench-reference"}))
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(4)])
    seen, cpu, wall = 0, time.process_time(), time.perf_counter()
    while seen < events:
        for message in consumer.consume(5_000, 1.0):
            value = message.value()
            if message.error() is None and value is not None:
                decode(value)
                seen += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    consumer.close()
    return cpu / events * 1e6, wall


def measure(home: Path, events: int, reference_us: float, arguments: list[str]) -> None:
    """Run the job over the backlog and print its figures."""
    job = JobProcess(home, "--trigger", "available-now", *arguments)
    seconds = job.wait()
    us = {kind: cpu / events * 1e6 for kind, cpu in job.usage.cpu.items()}
    total = sum(us.values())
    parts = {
        part: job.value("forebay_task_cpu_seconds_total", part=part) / events * 1e6 for part in ("process", "commit")
    }
    state = sum(job.value("forebay_task_cpu_seconds_total", part=part) for part in ("state", "load")) / events * 1e6
    print(
        f"  job: {total:.1f} us CPU per event = {total / reference_us:.1f} x reference, "
        f"{events / seconds:,.0f}/s while it ran"
    )
    print(f"    JVM {us.get('jvm', 0):.1f}, Python workers {us.get('python', 0):.1f}, driver {us.get('driver', 0):.1f}")
    print(
        f"    workers' main threads: source and state logic {parts['process']:.1f}, sink {parts['commit']:.1f}, "
        f"block log {state:.1f}; the rest of the workers is librdkafka's threads and Python's start"
    )
    print(
        f"    peak memory {job.usage.peak_bytes / 2**20:,.0f} MiB, "
        f"{job.value('forebay_records_out_total', kind='output'):,.0f} outputs"
    )


if __name__ == "__main__":
    main(standalone_mode=False)
