"""CPU time per event of topologies from published benchmarks: UC1 to UC3 of Theodolite, and ShuffleBench.

    python -m benchmarks.yardsticks [NAME ...] [--events 200000] [--keys 1000]

The topologies are written in the DSL and run as jobs that process a backlog. CPU time includes the start of the job.
The last output of every key is compared with the result of plain Python. Sensor records are JSON of 80 bytes, one per
sensor and second. Records of ShuffleBench have 1,000 bytes. One in five is forwarded to a consumer, which stores 128
bytes and responds to every tenth record. Both projects publish rates of clusters, so the topologies are comparable, but
the load is not.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

import forebay
from benchmarks.bench import platform
from forebay.builder import Topology
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.operators import Fold
from forebay.serde.json_format import json_of
from forebay.time import hopping, tumbling

TASKS = 4
START_MS = 1_735_689_600_000
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000
_CONSUMERS = 1_000
_ANSWERED = 10
_QUIET_S = 5.0

Sent = tuple[str, bytes, int]
"""Key, value and timestamp of an input record."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement of a sensor."""

    identifier: str
    timestamp: int
    value_in_w: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the measurements in a window."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0


@dataclass(frozen=True, slots=True)
class Consumed:
    """The state of a consumer of ShuffleBench."""

    count: int = 0
    state: str = "." * 128


def add_measurement(_key: str, one: Measurement, found: Statistics) -> Statistics:
    """Return the statistics after another measurement."""
    value = one.value_in_w
    if not found.count:
        return Statistics(1, value, value, value)
    return Statistics(found.count + 1, found.total + value, min(found.least, value), max(found.most, value))


def count_record(_key: int, _record: bytes, kept: Consumed) -> Consumed:
    """Return the state of a consumer after another record."""
    return Consumed(kept.count + 1, kept.state)


def consumers_of(record: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the record with each consumer whose rule it matches as key. The rules select one record in five."""
    number = int.from_bytes(record[:8], "big")
    if number % 5 == 0:
        yield number // 5 % _CONSUMERS, record


_STATISTICS = Fold(Statistics, add_measurement)
_CONSUMER = Fold(Consumed, count_record)


def uc1() -> Topology:
    """Return the topology of UC1 (database storage), which converts each measurement."""
    topology = Topology()
    topology.stream("input", json_of(Measurement)).map_values(lambda _, one: str(one.value_in_w), str).to("output")
    return topology


def uc2() -> Topology:
    """Return the topology of UC2 (downsampling), with statistics of each sensor and minute."""
    topology = Topology()
    minutes = topology.stream("input", json_of(Measurement)).group_by_key().windowed_by(tumbling(_MINUTE_MS))
    table = minutes.aggregate(_STATISTICS, json_of(Statistics), store="minutes")
    named = table.to_stream().map(lambda at, found: (f"{at.key} {at.window.start}", str(found.total)), str, str)
    named.to("output")
    return topology


def uc3() -> Topology:
    """Return the topology of UC3, with statistics of each sensor and hour of the day in windows of three days.

    The windows advance by one day.
    """
    topology = Topology()
    hourly = topology.stream("input", json_of(Measurement)).group_by(
        lambda sensor, one: f"{sensor} {one.timestamp % _DAY_MS // _HOUR_MS}", str
    )
    table = hourly.windowed_by(hopping(3 * _DAY_MS, _DAY_MS)).aggregate(_STATISTICS, json_of(Statistics), store="hours")
    named = table.to_stream().map(lambda at, found: (f"{at.key} {at.window.start}", str(found.total)), str, str)
    named.to("output")
    return topology


def shufflebench() -> Topology:
    """Return the topology of ShuffleBench. Records are sent to the consumers whose rules they match."""
    topology = Topology()
    matched = topology.stream("input", bytes).flat_map(lambda _, record: consumers_of(record), bytes, int)
    table = matched.group_by_key().aggregate(_CONSUMER, json_of(Consumed), store="consumers")
    answers = table.to_stream().filter(lambda _, kept: kept.count % _ANSWERED == 0)
    answers.map(lambda consumer, kept: (str(consumer), str(kept.count)), str, str).to("output")
    return topology


TOPOLOGIES: Mapping[str, Callable[[], Topology]] = {
    "uc1": uc1,
    "uc2": uc2,
    "uc3": uc3,
    "shufflebench": shufflebench,
}


def inputs(name: str, events: int, keys: int) -> Iterator[Sent]:
    """Yield the records of a benchmark, which are the same in each call."""
    choices = random.Random(name)
    filler = bytes(choices.randrange(256) for _ in range(992))
    for number in range(events):
        sensor, at = f"sensor-{number % keys}", START_MS + number // keys * 1_000
        if name == "shufflebench":
            yield sensor, choices.randrange(5 * _CONSUMERS).to_bytes(8, "big") + filler, at
        else:
            value = {"identifier": sensor, "timestamp": at, "value_in_w": choices.randrange(4_000) / 4}
            yield sensor, json.dumps(value).encode(), at


def last_outputs(name: str, sent: Iterable[Sent]) -> dict[str, str]:
    """Return the last output of each key, computed without Forebay."""
    latest: dict[str, str] = {}
    totals: dict[str, float] = {}
    for sensor, record, at in sent:
        if name == "shufflebench":
            number = int.from_bytes(record[:8], "big")
            keys = [str(number // 5)] if number % 5 == 0 else []
            value = 1.0
        else:
            value = json.loads(record)["value_in_w"]
            keys = list(_result_keys(name, sensor, at))
        for key in keys:
            totals[key] = totals.get(key, 0.0) + value
            if name == "uc1":
                latest[key] = str(value)
            elif name != "shufflebench":
                latest[key] = str(totals[key])
            elif totals[key] % _ANSWERED == 0:
                latest[key] = str(int(totals[key]))
    return latest


def _result_keys(name: str, sensor: str, at: int) -> Iterator[str]:
    if name == "uc1":
        yield sensor
    elif name == "uc2":
        yield f"{sensor} {at - at % _MINUTE_MS}"
    else:
        for days in range(3):
            yield f"{sensor} {at % _DAY_MS // _HOUR_MS} {at - at % _DAY_MS - days * _DAY_MS}"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--events", default=200_000, help="Records of the input.")
@click.option("--keys", default=1_000, help="Sensors.")
def main(names: tuple[str, ...], events: int, keys: int) -> None:
    """Run the benchmark."""
    print(f"{events:,} events, {keys:,} keys, {TASKS} partitions, load {psutil.getloadavg()[0]:.1f}", flush=True)
    with platform() as (home, kafka):
        wrong = [name for name in names or TOPOLOGIES if not measure(home, kafka, name, events, keys)]
    if wrong:
        sys.exit(f"wrong results: {', '.join(wrong)}")


def measure(home: Path, kafka: KafkaSettings, name: str, events: int, keys: int) -> bool:
    """Process the input of a benchmark and print its CPU time. Return whether the results are correct."""
    TopicAdmin(kafka).delete(["input", "output"])
    TopicAdmin(kafka).create([TopicSpec(topic, TASKS) for topic in ("input", "output")])
    _send(kafka, inputs(name, events, keys))
    wanted = last_outputs(name, inputs(name, events, keys))
    began = time.monotonic()
    job = forebay.run(
        TOPOLOGIES[name](),
        name=f"yardstick-{name}",
        home=home,
        bootstrap_servers=kafka.bootstrap_servers,
        schema_registry_url=kafka.schema_registry_url,
        create_topics=True,
    )
    latest, outputs, ended = _read(kafka, wanted)
    if not job.is_running:
        raise SystemExit(f"the job ended: {job.log.read_text()[-2000:]}")
    cpu = _cpu(f"yardstick-{name}")
    job.stop()
    is_right = latest == wanted
    print(
        f"  {name:13}{cpu / events * 1e6:6.1f} us CPU per event with its start, "
        f"{events / (ended - began):7,.0f} events/s, {outputs:,} outputs, {'right' if is_right else 'WRONG'}",
        flush=True,
    )
    return is_right


def _send(kafka: KafkaSettings, records: Iterable[Sent]) -> None:
    producer = Producer(kafka.producer())
    for key, value, at in records:
        while True:
            try:
                producer.produce("input", value, key, timestamp=at)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise SystemExit("the broker did not take all records")


def _read(kafka: KafkaSettings, wanted: Mapping[str, str]) -> tuple[dict[str, str], int, float]:
    """Return the last output of each key, the number of outputs, and the time at which the last one arrived."""
    consumer = Consumer(kafka.consumer(**{"group.id": "yardstick", "isolation.level": "read_committed"}))
    consumer.assign([TopicPartition("output", partition, 0) for partition in range(TASKS)])
    latest: dict[str, str] = {}
    number, last = 0, time.monotonic()
    while (quiet := time.monotonic() - last) < 60 and (quiet < _QUIET_S or latest != wanted):
        for message in consumer.consume(10_000, 0.5):
            key, value = message.key(), message.value()
            if message.error() is None and key is not None and value is not None:
                latest[key.decode()] = value.decode()
                number, last = number + 1, time.monotonic()
    consumer.close()
    return latest, number, last


def _cpu(name: str) -> float:
    """Return the CPU seconds of a job's processes."""
    running = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    (driver,) = (child for child in running if name in child.cmdline())
    times = [process.cpu_times() for process in (driver, *driver.children(recursive=True))]
    return sum(used.user + used.system for used in times)


if __name__ == "__main__":
    main(standalone_mode=False)
