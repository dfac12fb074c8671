"""CPU time per event of Nexmark's queries as SQL jobs. Each result is compared with a model in plain Python.

    python -m benchmarks.nexmark [QUERY ...] [--events 50000] [--kills 5]

The job runs before events are sent, so its start is not counted. CPU time is that of the job's process tree. If a query
joins bids with a table, the whole table is sent before the first bid, because such a join uses the rows that the table
has at that time. With --kills, the whole job is killed that number of times while it runs. The result must still be
exact, without duplicate or missing rows.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import JobProcess, platform
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.sql.queryable import codecs_of
from tests.nexmark.generator import Event, events
from tests.nexmark.model import Result, side_rows
from tests.nexmark.queries import QUERIES, expected_of, program_of_query, result_of, statements_of

TASKS = 4
_READ = {"q3": ("person", "auction"), "q8": ("person", "auction")}
"""Topics of the queries that do not read bids."""
_JOINS_AUCTIONS = ("q4", "q6", "q9", "q20")
_PARTITION_BY = {"person": "ID", "auction": "SELLER", "bid": "BIDDER"}
_PATIENCE_S = 300.0

Record = tuple[str, bytes | None, bytes, int, int]
"""Topic, key, value, timestamp and partition. If the partition is -1, the key determines it."""


@click.command()
@click.argument("queries", nargs=-1)
@click.option("--events", "number", default=50_000, help="Persons, auctions and bids, 1 to 3 to 46.")
@click.option("--seed", default=1, help="Of the events and of the moments of kills.")
@click.option("--kills", default=0, help="Kills of the whole job in each query.")
def main(queries: tuple[str, ...], number: int, seed: int, kills: int) -> None:
    """Run the benchmark."""
    sent = list(events(number, seed))
    print(f"{number:,} events, {TASKS} partitions, {kills} kills, load {psutil.getloadavg()[0]:.1f}", flush=True)
    with platform() as (home, kafka):
        differ = [
            query
            for query in queries or QUERIES
            if not measure(home, kafka, query, sent, kills, random.Random(f"{seed} {query}"))
        ]
    if differ:
        sys.exit(f"not the model's result: {', '.join(differ)}")


def measure(
    home: Path, kafka: KafkaSettings, query: str, sent: Sequence[Event], kills: int, choices: random.Random
) -> bool:
    """Run a query and print the measurements. Return whether its result equals that of the model."""
    inputs = [*_PARTITION_BY, "side_input"]
    TopicAdmin(kafka).delete(inputs)
    TopicAdmin(kafka).create([TopicSpec(topic, TASKS) for topic in inputs])
    file = home / f"{query}.sql"
    file.write_text(statements_of(query))

    def start() -> JobProcess:
        job = JobProcess(
            home, "--run", "-f", str(file), "--application", f"nexmark-{query}", "--tasks", str(TASKS), command="sql"
        )
        job.wait_until_it_runs()
        return job

    table = _table_of(query, sent)
    send(kafka, table)
    job = start()
    _wait_for_rows(job, len(table))
    outputs = Outputs(kafka, query, expected_of(query, sent))
    records = [_record(event) for event in sent if event.topic in _READ.get(query, ("bid",))]
    before, begun = job.cpu(), time.monotonic()
    for number in range(kills):
        send(kafka, _part(records, number, kills + 1))
        time.sleep(choices.random())
        job.kill()
        job = start()
    send(kafka, _part(records, kills, kills + 1))
    outputs.read_all(job)
    seconds, used = time.monotonic() - begun, sum(job.cpu().values()) - sum(before.values())
    job.stop()
    outputs.read_rest()
    cost = f"{used / len(records) * 1e6:6.1f} us CPU per event, {len(records) / seconds:6,.0f} events/s"
    is_right = outputs.are_right()
    print(
        f"  {query:4}{f'killed {kills} times' if kills else cost}, {len(records):,} events, "
        f"{outputs.number:,} outputs, {'right' if is_right else 'WRONG'}",
        flush=True,
    )
    return is_right


def _table_of(query: str, sent: Iterable[Event]) -> list[Record]:
    """Return the records of the table that a query joins with bids."""
    if query == "q13":
        return [
            ("side_input", key.to_bytes(8, "big"), json.dumps({"V": value}).encode(), 0, -1)
            for key, value in side_rows().items()
        ]
    return [_record(event) for event in sent if event.topic == "auction" and query in _JOINS_AUCTIONS]


def _record(event: Event) -> Record:
    # Records of a bidder or a seller keep their order.
    partition = event.row[_PARTITION_BY[event.topic]] % TASKS
    return event.topic, None, json.dumps(event.row).encode(), event.time, partition


def _part(records: Sequence[Record], number: int, parts: int) -> Sequence[Record]:
    return records[len(records) * number // parts : len(records) * (number + 1) // parts]


def send(kafka: KafkaSettings, records: Iterable[Record]) -> None:
    """Write records."""
    producer = Producer(kafka.producer())
    for topic, key, value, at, partition in records:
        while True:
            try:
                producer.produce(topic, value, key, partition, timestamp=at)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise SystemExit("the broker did not take all records")


def _wait_for_rows(job: JobProcess, rows: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while job.value("forebay_state_rows") < rows:
        if time.monotonic() > deadline or job.process.poll() is not None:
            raise SystemExit(f"the job does not fill its table: {job.log()[-2000:]}")
        time.sleep(0.2)


class Outputs:
    """The committed outputs of a query, which are compared with those of the model."""

    def __init__(self, kafka: KafkaSettings, query: str, wanted: Result) -> None:
        (target,) = (source for source in program_of_query(query).catalog if source.name == query.upper())
        self._key, self._value = codecs_of(target)
        self._wanted = wanted
        self._rows: list[tuple[Any, Any]] = []
        self._consumer = Consumer(kafka.consumer(**{"group.id": "nexmark", "isolation.level": "read_committed"}))
        self._consumer.assign([TopicPartition(target.topic, partition, 0) for partition in range(TASKS)])

    @property
    def number(self) -> int:
        """Number of outputs."""
        return len(self._rows)

    def are_right(self) -> bool:
        """Return whether the outputs equal those of the model."""
        return result_of(self._rows, is_table=isinstance(self._wanted, dict)) == self._wanted

    def read_all(self, job: JobProcess) -> None:
        """Read until the result is correct, or no output arrives for a long time. Raises SystemExit if the job ends."""
        last = time.monotonic()
        while time.monotonic() < last + _PATIENCE_S / 10:
            if self._read(0.5):
                last = time.monotonic()
            elif self.number >= len(self._wanted) and self.are_right():
                return
            if job.process.poll() is not None:
                raise SystemExit(f"the job ended: {job.log()[-2000:]}")

    def read_rest(self) -> None:
        """Read the remaining outputs after the job has ended."""
        while self._read(3.0):
            pass
        self._consumer.close()

    def _read(self, seconds: float) -> int:
        messages = [message for message in self._consumer.consume(5_000, seconds) if message.error() is None]
        for message in messages:
            key, value = message.key(), message.value()
            self._rows.append(
                (None if key is None else self._key.decode(key), None if value is None else self._value.decode(value))
            )
        return len(messages)


if __name__ == "__main__":
    main(standalone_mode=False)
