"""Time until a job with a large state resumes, from its checkpoint, from standby copies, or from its changelogs.

    python -m benchmarks.recovery [--events 2900000] [--keys 2900000]

The time is that from the start of the process to the first committed output. The reference in the same run is the start
of a job without state.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from benchmarks.backlog import codecs
from benchmarks.bench import SERVICE, TOPIC, JobProcess, platform
from forebay.catalog import find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.producing.base import Options
from forebay.producing.run import produce

FRESH = "bench-fresh"


@click.command()
@click.option("--events", default=2_900_000, help="Records before the failure.")
@click.option("--keys", default=2_900_000, help="Keys they are spread over; about three events for each that comes up.")
def main(events: int, keys: int) -> None:
    """Run the benchmark."""
    with platform() as (home, kafka):
        TopicAdmin(kafka).create(spec_of(topic) for topic in find_service(SERVICE).changelogs(FRESH, 4))
        send(kafka, events, keys, 1)
        first = JobProcess(home, SERVICE, "--trigger", "available-now")
        first.wait()
        rows = first.value("forebay_state_rows")
        print(f"user-sessions, {events:,} events: {rows:,.0f} rows, 4 tasks, one slot")
        reference = until_output(home, kafka, "--application", FRESH, "--starting-offsets", "latest")
        print(f"  no state (reference): {reference:.1f} s to the first output")
        copies = str(home / "copies")
        show("from the checkpoint", until_output(home, kafka), reference)
        show("from the checkpoint, tables on disk", until_output(home, kafka, "--tables", "persistent"), reference)
        follow(home, copies, rows)
        warm = ("--standby-directory", copies)
        show("from warm copies", until_output(home, kafka, *warm), reference)
        show("from warm copies, tables on disk", until_output(home, kafka, *warm, "--tables", "persistent"), reference)
        restore(home)
        show("after the restore, from the checkpoint", until_output(home, kafka), reference)


def send(kafka: KafkaSettings, count: int, keys: int, seed: int) -> None:
    """Write events."""
    codec = codecs(kafka, find_service(SERVICE))[TOPIC]
    options = Options(rate=0, count=count, keys=keys, seed=seed, event_rate=20_000)
    produce(TOPIC, options, kafka.producer(), codec, lambda _s, _t: 0)


def show(what: str, seconds: float, reference: float) -> None:
    """Print a time and its ratio to the reference."""
    print(f"  {what}: {seconds:.1f} s to the first output, {seconds - reference:+.1f} s to the reference")


def until_output(home: Path, kafka: KafkaSettings, *arguments: str) -> float:
    """Start the job on some new events, and kill it after its first committed output. Return the seconds until then."""
    output = find_service(SERVICE).output.name
    consumer = Consumer(kafka.consumer(**{"group.id": "bench-recovery"}))
    consumer.assign([TopicPartition(output, partition, OFFSET_END) for partition in range(4)])
    ends = 0
    while ends < 4:
        ends += sum(message.error() is not None for message in consumer.consume(100, 1.0))
    fresh = FRESH in arguments
    if not fresh:
        send(kafka, 400, 100, time.time_ns() % 1_000_000)
    begun = time.perf_counter()
    job = JobProcess(home, SERVICE, *arguments)
    if fresh:
        job.wait_until_it_runs()
        waited = time.perf_counter() - begun
        consumer.close()
        job.stop()
        return waited
    while not any(message.error() is None for message in consumer.consume(1, 1.0)):
        if job.process.poll() is not None:
            raise SystemExit(f"the job ended: {job.log()[-2000:]}")
    seconds = time.perf_counter() - begun
    consumer.close()
    job.kill()
    return seconds


def follow(home: Path, copies: str, rows: float) -> None:
    """Run a standby until its copies contain the number of rows, except those that the job has deleted since."""
    command = [sys.executable, "-m", "forebay.cli.main", "standby", SERVICE, "--home", str(home), "--directory", copies]
    begun = time.perf_counter()
    standby = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert standby.stderr is not None
    job = JobProcess(home, SERVICE)
    for line in standby.stderr:
        stand = re.search(r"copies are at commit \d+: (\d+) rows", line)
        if stand is not None and int(stand[1]) >= 0.9 * rows:
            break
    seconds = time.perf_counter() - begun
    print(f"  a standby held everything after {seconds:.1f} s, of which it waits ten; the job ran at the same time")
    job.stop()
    standby.terminate()
    standby.wait()


def restore(home: Path) -> None:
    """Delete the checkpoint, restore the state, and print the duration."""
    shutil.rmtree(home / "checkpoints" / SERVICE)
    begun = time.perf_counter()
    job = JobProcess(home, SERVICE, command="restore")
    job.wait()
    seconds = time.perf_counter() - begun
    megabytes = re.search(r"restored \d+ rows \(([\d.]+) MB\)", job.log())
    result = re.findall(r"restored (\d+) rows: (\d+) records in ([\d.]+) s, \d+ records/s, ([\d.]+) MB/s", job.log())
    records, reading = sum(int(item[1]) for item in result), sum(float(item[2]) for item in result)
    pace = sum(float(item[2]) * float(item[3]) for item in result) / reading
    print(
        f"  restore from the changelogs ({megabytes.group(1) if megabytes else '?'} MB of state): {seconds:.1f} s with "
        "start and end of the process; "
        f"reading {records:,} records {reading:.1f} s: {records / reading:,.0f} records/s, {pace:.0f} MB/s"
    )


if __name__ == "__main__":
    main(standalone_mode=False)
