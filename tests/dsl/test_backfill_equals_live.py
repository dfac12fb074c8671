"""A backfill of the history and live processing of the rest have the results of processing everything live."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from forebay.in_memory.broker import MemoryReader
from forebay.in_memory.topics import Topics
from forebay.job import Job, global_tables
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.history import HistoryReader, HistoryRecord, HistoryRow
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.partition_queue import EVER
from forebay.testing import TestDriver
from tests.dsl import every_operator, rekeyed_join
from tests.dsl.random_topologies import drawn_job, drawn_records
from tests.dsl.test_downtime_changes_nothing import Record, live, results


def in_order(job: Job, topics: Topics) -> Iterator[HistoryRow]:
    """Return the records of all inputs, sorted like a backfill's rows."""
    ordered = []
    tables = {name for part in job.topology for name in part.tables}
    for name in job.inputs:
        rank = -1 if name in global_tables(job) else 0 if name in tables else 1
        for partition in topics.partitions[name]:
            turn = -1
            for record in partition.records:
                turn = -1 if rank < 0 else max(turn, record.timestamp_)
                at, offset, number = record.timestamp_, record.offset_, partition.number
                row = HistoryRecord(name, number, offset, record.key_, record.value_, at, record.headers_)
                ordered.append(((turn, rank, name, number, offset), row))
    ordered.sort(key=lambda item: item[0])
    return (HistoryRow(place[0], row) for place, row in ordered)


class Backfilled:
    """A driver whose job begins with a backfill.

    Args:
        history: Records that the backfill processes.
        most: Maximum number of records per commit.
    """

    def __init__(self, job: Job, tasks: int, history: Sequence[Record], most: int = 50) -> None:
        self._job, self._most = job, most
        self.driver = TestDriver(job, tasks=tasks)
        for topic, key, value, at in history:
            self.driver._append(topic, key, value, at, None)
        lease = self.driver._loop._lease
        until = {topic: (EVER,) * len(begins) for topic, begins in lease.start.items()}
        self._lease = replace(lease, number=2, until=until)

    def run(self, cycles: int = 10_000) -> None:
        """Process the history from the last commit on, in up to `cycles` cycles."""
        loop, time = self.driver._loop, self.driver._time
        reader = HistoryReader(in_order(self._job, loop.topics), MemoryReader(loop.topics))
        limits = Limits(self._most, commit_interval_ms=0)
        group = TaskGroup(
            [task for sub_topology in self.driver.sub_topologies for task in sub_topology.begin()],
            {},
            reader,
            loop.producer,
            loop._surroundings,
            Pacing(limits, time.monotonic),
            GroupSettings("driven", idle=False),
            time.wall,
            time.monotonic,
        )
        group.open(self._lease)
        for _ in range(cycles):
            if group.is_done(self._lease):
                break
            group.cycle(self._lease, 0.0)

    def go_live(self, given: Sequence[Record]) -> TestDriver:
        """Start the job at the end of the history, and process the records that have arrived since."""
        loop = self.driver._loop
        loop._lease = replace(loop._lease, number=3)
        self.driver.restart(given)
        return self.driver


def after_a_backfill(job: Job, tasks: int, given: Sequence[Record], cut: int, most: int = 50) -> TestDriver:
    backfilled = Backfilled(job, tasks, given[:cut], most)
    backfilled.run()
    return backfilled.go_live(given[cut:])


def stores(driver: TestDriver) -> dict[str, dict[bytes, bytes]]:
    """Return the rows of all tasks' tables, without internal rows, by sub-topology and task."""
    tables = {}
    for sub_topology in driver.sub_topologies:
        for number, table in enumerate(sub_topology.tables):
            rows = dict(table.scan(b"\x02", b"\xff"))
            tables[f"{sub_topology.name}-{number}"] = rows
    return tables


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("cut", [0, 1, 60, 1_000])
def test_rekeyed_stream_joins_the_rows_as_of_its_timestamp(tasks: int, cut: int) -> None:
    given = rekeyed_join.records(1_000, 60)
    driver = after_a_backfill(rekeyed_join.JOB, tasks, given, cut)
    assert sorted(sent.value for sent in driver.outputs) == rekeyed_join.expected_join(given)


@pytest.mark.long
@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_every_operator(tasks: int) -> None:
    given, job = every_operator.records(200), every_operator.JOB
    unordered = ("by-letter", "by-part", "by-length")
    calm = live(job, tasks, given)
    wanted, rows = results(calm, unordered), stores(calm)
    for cut, most in ((9, 50), (90, 3), (209, 1_000)):
        driver = after_a_backfill(job, tasks, given, cut, most)
        assert results(driver, unordered) == wanted
        assert stores(driver) == rows


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_random_topologies_and_split_points(seed: int) -> None:
    given, job, draw = drawn_records(seed, 120), drawn_job(seed), random.Random(seed)
    for tasks in (1, 2, 3):
        calm = live(job, tasks, given)
        topics = tuple({sent.topic for sent in calm.outputs})
        cut, most = draw.randrange(len(given) + 1), draw.choice((1, 5, 50, 1_000))
        driver = after_a_backfill(job, tasks, given, cut, most)
        assert results(driver, topics) == results(calm, topics), (tasks, cut)
        assert stores(driver) == stores(calm), (tasks, cut)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("cycles", [1, 2, 5, 9])
def test_a_backfill_that_was_killed_continues(tasks: int, cycles: int) -> None:
    given = rekeyed_join.records(1_000, 60)
    backfilled = Backfilled(rekeyed_join.JOB, tasks, given[:80], most=7)
    for _ in range(3):
        backfilled.run(cycles)
    backfilled.run()
    driver = backfilled.go_live(given[80:])
    assert sorted(sent.value for sent in driver.outputs) == rekeyed_join.expected_join(given)
