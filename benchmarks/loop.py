"""CPU time per event in the loop of a group, with real messages, a real producer, and librdkafka's mock broker.

    python -m benchmarks.loop [SERVICE] [--events 200000] [--keys 1000] [--tables persistent] [--profile] [--no-sending]

The benchmark prints the CPU time per event (µs) of the parts of the loop's thread, and of the producer's threads. It
does not count the mock broker, which is another process, and the consumer (`backlog` measures it). `--no-sending` runs
without a producer, to count instructions with `valgrind --tool=callgrind`.
"""

from __future__ import annotations

import cProfile
import multiprocessing
import os
import pstats
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import click
from confluent_kafka import Message, Producer, TopicPartition

from forebay.catalog import Service, find_service
from forebay.job import Job, load_job
from forebay.partitioner import Partitioner
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.producing.base import Options
from forebay.producing.sources import generate
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.process.memory import collect_seldom
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spec import Tables
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.snapshot import SnapshotWriter
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.worker.broker_requests import GroupSurroundings
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.transaction import GroupProducer
from forebay.serde import local_codec
from forebay.service.wiring import task_codecs
from forebay.stores.disk import DiskTable
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Table

TASKS = 4
APPLICATION = "loop"
PIECE_ROWS = 50_000


class Feed:
    """Consumer that has already fetched all records, and returns a part of each partition in turn."""

    def __init__(self, messages: list[Message]) -> None:
        self._left: dict[tuple[str | None, int | None], list[Message]] = {}
        for message in messages:
            self._left.setdefault((message.topic(), message.partition()), []).append(message)
        self._at = dict.fromkeys(self._left, 0)
        self._paused: set[tuple[str | None, int | None]] = set()

    def assign(self, _places: list[TopicPartition]) -> None:
        self._at = dict.fromkeys(self._left, 0)
        self._paused.clear()

    def consume(self, most: int, _seconds: float) -> list[Message]:
        messages: list[Message] = []
        reading = [place for place, at in self._at.items() if place not in self._paused and at < len(self._left[place])]
        for place in reading:
            begin = self._at[place]
            self._at[place] = begin + max(1, most // len(reading))
            messages += self._left[place][begin : self._at[place]]
        return messages

    def pause(self, places: list[TopicPartition]) -> None:
        self._paused.update((place.topic, place.partition) for place in places)

    def resume(self, places: list[TopicPartition]) -> None:
        self._paused.difference_update((place.topic, place.partition) for place in places)

    def poll(self, _seconds: float) -> None:
        return None

    def get_watermark_offsets(self, place: TopicPartition, **_options: Any) -> tuple[int, int]:
        return 0, len(self._left[place.topic, place.partition])


class FedReader(GroupReader):
    """Reader whose partitions end at the end offsets of its lease."""

    def look(self) -> None:
        return


class MarkingNobody(Producer):
    """Producer that commits nothing to the marker group, because the mock broker does not support it."""

    def send_offsets_to_transaction(self, *_: Any) -> None:
        return


class NoProducer:
    """Producer that discards all records."""

    def produce(self, *_record: Any, **_more: Any) -> None:
        return

    def __len__(self) -> int:
        return 0

    def __getattr__(self, _name: str) -> Any:
        return lambda *_, **__: 0


class Alone(GroupSurroundings):
    """Surroundings of a new group, whose inputs have ends."""

    def __init__(self, job: Job, names: Mapping[str, str]) -> None:
        spec: Any = SimpleNamespace(application=APPLICATION, former=())
        unused: Any = None
        super().__init__(spec, job, unused, unused, names)

    def markers(self, places: Any) -> dict[tuple[str, int], str]:
        return {}

    def read_tails(self, tails: Any) -> None:
        for tail in tails:
            tail.offsets = dict.fromkeys(tail.rows.topics, 0)


def messages(service: Service, events: int, keys: int) -> list[Message]:
    """Return the events of the service's inputs as a consumer would fetch them, in turn from all partitions."""
    place, result = Partitioner(TASKS), []
    share = events // len(service.inputs)
    for topic in service.inputs:
        offsets = [0] * TASKS
        encode = local_codec(service.name, load_job(service.job).inputs[topic.name]).encode
        for event in islice(generate(topic.name, Options(rate=0, count=share, keys=keys, seed=1)), share):
            key = event.key.encode()
            partition = place(key)
            result.append(
                Message(
                    topic=topic.name,
                    partition=partition,
                    offset=offsets[partition],
                    key=key,
                    value=encode(event.value),
                    timestamp=(1, event.timestamp),
                )
            )
            offsets[partition] += 1
    return result


class Loop:
    """The loop of a group with the tasks of one sub-topology, which measures the time of each part of its work.

    Args:
        producer: Producer of all records.
        consumer: Consumer of the marker group. If nothing is sent, it can be a test double.
    """

    def __init__(
        self, service: Service, feed: list[Message], producer: Any, consumer: Any, tables: Tables, **engine: Any
    ) -> None:
        job = load_job(service.job)
        (part,) = job.topology
        tasks, writers = [], {}
        contract: Any = lambda _, record: local_codec(service.name, record)  # noqa: E731
        for number in range(TASKS):
            processor = part.processor(job.settings())
            table: Table = DiskTable("", "loop") if tables is Tables.PERSISTENT else MemoryTable()
            codecs = task_codecs(job, part, processor, contract, contract, contract)
            log = sub_topology_log(APPLICATION, 0, processor)
            task_engine = TaskEngine(processor, codecs, table, EngineSettings(service=service.name, **engine))
            settings = TaskSettings(f"{APPLICATION}-0-{number}", 0, number)
            task = StateTask(task_engine, table, log.router(number), log.rows(), Announcer(1.0), settings)
            tasks.append(task)
            writers[task.place] = SnapshotWriter(task)
        reader: Any = Feed(feed)
        admin: Any = None
        self.group = TaskGroup(
            tasks,
            writers,
            FedReader(reader, admin),
            GroupProducer(consumer, lambda: producer, Destinations("errors", "late", {}, Partitioner(TASKS))),
            Alone(job, {}),
            Pacing(Limits(idle=False)),
            GroupSettings(f"{APPLICATION}-group-0"),
        )
        topics = sorted({message.topic() or "" for message in feed})
        ends = {topic: [0] * TASKS for topic in topics}
        for message in feed:
            ends[message.topic() or ""][message.partition() or 0] += 1
        self.lease = Lease(
            "bench", 1, 0, 1, TASKS, 0, dict.fromkeys(topics, (0,) * TASKS), {t: tuple(e) for t, e in ends.items()}
        )
        self.blocks = 0

    def run(self) -> dict[str, float]:
        """Process all events. Return the CPU time (s) of this thread by part."""
        self.group.open(self.lease)
        cutting, begun = 0.0, time.thread_time()
        while not self.group.is_done(self.lease):
            self.group.cycle(self.lease, 0.1)
            cut = time.thread_time()
            for writer in self.group.writers.values():
                if writer.waiting > PIECE_ROWS:
                    self.blocks += sum(map(len, writer.cut().values()))
            cutting += time.thread_time() - cut
        total = time.thread_time() - begun
        process = sum(task.figures.cpu_seconds["process"] for task in self.group.tasks)
        return {"process": process, "cut": cutting, "rest": total - process - cutting, "total": total}


@contextmanager
def mock() -> Iterator[str]:
    """Start a mock broker in another process, and yield its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _serve(connection: Connection) -> None:
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    connection.send(f"{broker.host}:{broker.port}")
    connection.recv()


def threads() -> float:
    """Return the CPU time (s) of the other threads of this process."""
    return time.process_time() - time.thread_time()


@click.command()
@click.argument("service", default="user-sessions")
@click.option("--events", default=200_000, help="Records.")
@click.option("--keys", default=1_000, help="Keys.")
@click.option("--rounds", default=3, help="Times that it is measured; the least counts.")
@click.option("--tables", type=click.Choice([tables.value for tables in Tables]), default="in_memory", help="Where.")
@click.option("--profile", is_flag=True, help="Show where the time goes, by function.")
@click.option("--sending/--no-sending", default=True, help="To a mock broker, or nowhere.")
def main(service: str, events: int, keys: int, rounds: int, tables: str, profile: bool, sending: bool) -> None:
    """Run the benchmark."""
    collect_seldom()
    result = find_service(service)
    feed = messages(result, events, keys)
    measure(result, feed, rounds, profile, sending, Tables(tables))


def measure(
    service: Service,
    feed: list[Message],
    rounds: int,
    profile: bool,
    sending: bool,
    tables: Tables = Tables.IN_MEMORY,
    **engine: Any,
) -> None:
    """Print the CPU time per event of each part, as the smallest of several rounds."""
    least: dict[str, float] = {}
    for number in range(rounds):
        with mock() if sending else _nowhere() as address:
            client = {"bootstrap.servers": address, "log_level": 0}
            producer = (
                MarkingNobody(
                    {
                        **client,
                        "transactional.id": f"loop-{os.getpid()}-{number}",
                        "queue.buffering.max.kbytes": 64 * 1024,
                        "queue.buffering.max.messages": 1_000_000,
                        "partitioner": "murmur2_random",
                    }
                )
                if sending
                else NoProducer()
            )
            loop = Loop(service, feed, producer, NoProducer(), tables, **engine)
            before, profiler = threads(), cProfile.Profile()
            if profile:
                profiler.enable()
            parts = loop.run()
            profiler.disable()
            parts["librdkafka"] = threads() - before
            least = {name: min(value, least.get(name, value)) for name, value in parts.items()}
    figures = ", ".join(f"{name} {seconds / len(feed) * 1e6:.2f}" for name, seconds in least.items())
    rows = sum(len(task.table) for task in loop.group.tasks)
    print(f"{service.name}: {len(feed):,} events: us per event: {figures}; {rows:,} rows, {loop.blocks:,} block bytes")
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


@contextmanager
def _nowhere() -> Iterator[str]:
    yield ""


if __name__ == "__main__":
    main(standalone_mode=False)
