"""Pull queries return the entries of every type of store, over all tasks."""

from __future__ import annotations

import copy
import threading

import pytest

from forebay.queries.entries import Entry
from forebay.queries.reads import Bounds, WrongQuery
from forebay.queries.replica import STORED
from forebay.queries.stores import JobStores, NotCurrent, Reached, UnknownStore
from forebay.testing.cell import Cell, CellCodec
from tests.queries.written import LOG, WrittenTask, job_of


@pytest.fixture
def tasks() -> list[WrittenTask]:
    return [WrittenTask(0), WrittenTask(1)]


@pytest.fixture
def job(tasks: list[WrittenTask]) -> JobStores:
    return job_of(*tasks)


def keys(entries: list[Entry]) -> list[str]:
    return [entry.key for entry in entries]


def publish(tasks: list[WrittenTask]) -> None:
    for task in tasks:
        task.publish()


def test_keys_of_all_tasks_come_in_order_page_by_page(tasks: list[WrittenTask], job: JobStores) -> None:
    for number, key in enumerate(["é", "b", "a", "d", "c", "cc"]):
        tasks[number % 2].store("plain").put(key, Cell(key))
    publish(tasks)
    everything = job.scan("plain", Bounds(), 10)
    assert keys(everything.entries) == ["a", "b", "c", "cc", "d", "é"]
    assert not everything.more
    assert everything.batches == {0: 1, 1: 1}
    first = job.scan("plain", Bounds(), 2)
    assert (keys(first.entries), first.more) == (["a", "b"], True)
    assert keys(job.scan("plain", Bounds(after="b"), 2).entries) == ["c", "cc"]
    assert keys(job.scan("plain", Bounds(prefix="c"), 10).entries) == ["c", "cc"]
    assert keys(job.scan("plain", Bounds(prefix="c", after="c"), 10).entries) == ["cc"]
    assert keys(job.scan("plain", Bounds(prefix="c", descending=True), 10).entries) == ["cc", "c"]
    assert keys(job.scan("plain", Bounds(key_from="b", key_to="cc"), 10).entries) == ["b", "c", "cc"]
    assert keys(job.scan("plain", Bounds(key_from="b", key_to="cc", after="b"), 10).entries) == ["c", "cc"]
    assert keys(job.scan("plain", Bounds(descending=True), 3).entries) == ["é", "d", "cc"]
    assert keys(job.scan("plain", Bounds(key_to="c", descending=True), 10).entries) == ["c", "b", "a"]


def test_a_key_is_found_in_the_task_that_holds_it(tasks: list[WrittenTask], job: JobStores) -> None:
    tasks[1].store("plain").put("k", Cell("1"))
    publish(tasks)
    assert job.get("plain", "k", Bounds(), 1).entries == [Entry("k", Cell("1"))]
    assert job.get("plain", "unknown", Bounds(), 1).entries == []


def test_a_batch_is_seen_once_it_has_ended_and_then_as_a_whole(tasks: list[WrittenTask], job: JobStores) -> None:
    publish(tasks)
    task = tasks[0]
    task.store("plain").put("k", Cell("1"))
    task.store("stamped").put("k", Cell("2"), 5)
    ends = task.commit()
    assert job.get("plain", "k", Bounds(), 1).entries == []
    task.replica.batches_end(ends)
    assert job.get("plain", "k", Bounds(), 1).entries == [Entry("k", Cell("1"))]
    assert job.get("stamped", "k", Bounds(), 1).entries == [Entry("k", Cell("2"), timestamp=5)]
    task.store("plain").put("k", None)
    task.publish()
    assert job.get("plain", "k", Bounds(), 1).entries == []


def test_an_entry_expires_by_the_tasks_time(tasks: list[WrittenTask], job: JobStores) -> None:
    tasks[0].at(1_000)
    tasks[0].store("expiring").put("k", Cell("1"))
    publish(tasks)
    assert keys(job.get("expiring", "k", Bounds(), 1).entries) == ["k"]
    tasks[0].at(1_099)
    publish(tasks)
    assert keys(job.scan("expiring", Bounds(), 1).entries) == ["k"]
    tasks[0].at(1_100)
    publish(tasks)
    assert job.get("expiring", "k", Bounds(), 1).entries == []
    assert job.scan("expiring", Bounds(), 1).entries == []


def test_a_query_does_not_count_as_use_of_an_lru_entry(tasks: list[WrittenTask], job: JobStores) -> None:
    recent = tasks[0].store("recent")
    recent.put("old", Cell("1"))
    recent.put("new", Cell("2"))
    publish(tasks)
    assert keys(job.get("recent", "old", Bounds(), 1).entries) == ["old"]
    recent.put("newest", Cell("3"))
    publish(tasks)
    assert keys(job.scan("recent", Bounds(), 9).entries) == ["new", "newest"]


def test_windows(tasks: list[WrittenTask], job: JobStores) -> None:
    for start in (10, 20, 30):
        for number, key in enumerate(["a", "b"]):
            tasks[number].store("windows").put(key, Cell(f"{key}{start}"), start, start + 3)
    publish(tasks)
    assert job.get("windows", "a", Bounds(), 9).entries[0] == Entry("a", Cell("a10"), 10, 20, 13)
    assert [e.start for e in job.get("windows", "a", Bounds(time_from=11, time_to=30), 9).entries] == [20, 30]
    assert [e.start for e in job.get("windows", "a", Bounds(descending=True), 2).entries] == [30, 20]
    every = job.scan("windows", Bounds(time_to=20), 9).entries
    assert [(e.start, e.key) for e in every] == [(10, "a"), (10, "b"), (20, "a"), (20, "b")]
    backwards = job.scan("windows", Bounds(time_to=20, descending=True), 9).entries
    assert backwards == every[::-1]
    assert keys(job.scan("windows", Bounds(key_from="b"), 9).entries) == ["b"] * 3
    tasks[0].store("windows").put("a", Cell("late"), 110)
    publish(tasks)
    assert [e.start for e in job.get("windows", "a", Bounds(), 9).entries] == [20, 30, 110]


def test_sessions(tasks: list[WrittenTask], job: JobStores) -> None:
    sessions = tasks[0].store("sessions")
    sessions.put("a", 10, 15, Cell("1"))
    sessions.put("a", 30, 40, Cell("2"))
    tasks[1].store("sessions").put("b", 12, 20, Cell("3"))
    publish(tasks)
    assert job.get("sessions", "a", Bounds(), 9).entries == [
        Entry("a", Cell("1"), 10, 15),
        Entry("a", Cell("2"), 30, 40),
    ]
    assert [e.start for e in job.get("sessions", "a", Bounds(time_from=16), 9).entries] == [30]
    assert [e.start for e in job.get("sessions", "a", Bounds(time_from=12, time_to=29), 9).entries] == [10]
    assert [(e.key, e.end) for e in job.scan("sessions", Bounds(), 9).entries] == [("a", 15), ("b", 20), ("a", 40)]
    assert [e.end for e in job.scan("sessions", Bounds(time_from=20, descending=True), 9).entries] == [40, 20]
    assert [e.end for e in job.scan("sessions", Bounds(key_to="a", descending=True), 9).entries] == [40, 15]


def test_versions(tasks: list[WrittenTask], job: JobStores) -> None:
    versions = tasks[0].store("versions")
    versions.put("k", Cell("8"), 10)
    versions.put("k", None, 30)
    versions.put("k", Cell("10"), 40)
    publish(tasks)
    assert job.get("versions", "k", Bounds(), 9).entries == [Entry("k", Cell("10"), timestamp=40)]
    assert job.get("versions", "k", Bounds(as_of=29), 9).entries == [Entry("k", Cell("8"), timestamp=10, valid_to=30)]
    assert job.get("versions", "k", Bounds(as_of=30), 9).entries == []
    assert [e.timestamp for e in job.get("versions", "k", Bounds(time_from=0), 9).entries] == [10, 40]
    assert [e.timestamp for e in job.get("versions", "k", Bounds(time_to=99, descending=True), 9).entries] == [40, 10]
    assert [(e.timestamp, e.value) for e in job.scan("versions", Bounds(), 9).entries] == [
        (10, Cell("8")),
        (30, None),
        (40, Cell("10")),
    ]


def test_lists(tasks: list[WrittenTask], job: JobStores) -> None:
    for value in ("1", "2"):
        tasks[0].store("lists").put("k", Cell(value))
    publish(tasks)
    assert job.get("lists", "k", Bounds(), 9).entries == [Entry("k", Cell("1")), Entry("k", Cell("2"))]
    result = job.get("lists", "k", Bounds(), 1)
    assert (len(result.entries), result.more) == (1, True)


@pytest.mark.parametrize(
    ("store", "bounds", "message"),
    [
        (
            "plain",
            Bounds(time_from=1),
            "store plain .key-value.: a query of all keys does not have the parameter time_from; it takes after",
        ),
        ("windows", Bounds(prefix="a"), "does not have the parameter prefix"),
        ("versions", Bounds(key_from="a"), "does not have the parameter key_from; it takes no bounds"),
        ("plain", Bounds(prefix="a", key_to="b"), "a prefix or a range"),
        ("waiting", Bounds(), "it can't be queried"),
    ],
)
def test_meaningless_values_are_refused(
    tasks: list[WrittenTask], job: JobStores, store: str, bounds: Bounds, message: str
) -> None:
    publish(tasks)
    with pytest.raises(WrongQuery, match=message):
        job.scan(store, bounds, 1)


def test_a_query_of_a_key_refuses_the_bounds_of_a_scan(tasks: list[WrittenTask], job: JobStores) -> None:
    publish(tasks)
    with pytest.raises(WrongQuery, match="a query of a key does not have the parameter after; it takes no bounds"):
        job.get("plain", "k", Bounds(after="a"), 1)
    with pytest.raises(WrongQuery, match="either as_of or a range"):
        job.get("versions", "k", Bounds(as_of=1, time_to=2), 1)


def test_an_unknown_store_is_refused_with_the_known_stores(tasks: list[WrittenTask], job: JobStores) -> None:
    publish(tasks)
    with pytest.raises(UnknownStore, match="no store 'plane': choose from plain, stamped"):
        job.get("plane", "k", Bounds(), 1)


def test_nothing_is_answered_before_every_task_was_read(tasks: list[WrittenTask], job: JobStores) -> None:
    tasks[0].publish()
    with pytest.raises(NotCurrent, match="still being read"):
        job.scan("plain", Bounds(), 1)
    tasks[1].replica.batches_end(dict.fromkeys(tasks[1].replica.topics, 0))
    assert job.scan("plain", Bounds(), 1).batches == {0: 1, 1: -1}


def test_a_read_can_be_made_to_contain_an_offset(tasks: list[WrittenTask], job: JobStores) -> None:
    publish(tasks)
    job.wait_for("plain", [Reached("events", 1, 9)], 0)
    with pytest.raises(NotCurrent, match="the server has not read the effects of events-1:10 yet"):
        job.wait_for("plain", [Reached("events", 0, 3), Reached("events", 1, 10)], 0.01)
    publish(tasks)
    job.wait_for("plain", [Reached("events", 1, 10)], 0)


def test_a_global_table_is_read_once_though_every_task_has_it(tasks: list[WrittenTask]) -> None:
    for task in tasks:
        task.store("plain").put("k", Cell("1"))
    publish(tasks)
    (declared,) = (copy.copy(store) for store in LOG.stores if store.name == "plain")
    declared.is_global = True
    job = JobStores([[declared]], [[task.replica for task in tasks]])
    assert job.scan("plain", Bounds(), 10).entries == [Entry("k", Cell("1"))]
    assert job.get("plain", "k", Bounds(), 10).entries == [Entry("k", Cell("1"))]


class AskingCodec(CellCodec):
    """A codec that reads the replica on another thread while it decodes a row."""

    def __init__(self, task: WrittenTask) -> None:
        self.task = task
        self.answers: list[int] = []

    def decode(self, data: bytes) -> Cell:
        thread = threading.Thread(
            target=lambda: self.answers.append(len(self.task.replica.get("plain", "b", Bounds(), 1, STORED)[1]))
        )
        thread.start()
        thread.join(10)
        return super().decode(data)


def test_other_readers_do_not_wait_while_rows_are_decoded(tasks: list[WrittenTask]) -> None:
    task = tasks[0]
    for key in "ab":
        task.store("plain").put(key, Cell(key))
    task.publish()
    codec = AskingCodec(task)
    _, entries = task.replica.scan("plain", Bounds(), 10, codec)
    assert ([entry.value for entry in entries], codec.answers) == ([Cell("a"), Cell("b")], [1, 1])
