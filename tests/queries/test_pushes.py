"""A push query sends each change exactly once, after the existing rows if these are requested."""

from __future__ import annotations

import threading
from itertools import islice
from typing import Any

import pytest

from forebay.queries.entries import Entry
from forebay.queries.reads import Bounds
from forebay.queries.stores import JobStores
from forebay.queries.subscription import Change, End, Subscription
from forebay.runtime.maintenance.follower import ChangelogsAnew
from forebay.testing.cell import Cell
from tests.queries.written import WrittenTask


def waiting(subscription: Subscription) -> list[Change]:
    return next(subscription.changes(0.0))


def entries(subscription: Subscription) -> list[Entry]:
    return [change.entry for change in waiting(subscription)]


def test_changes_come_with_their_batch(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain")
    assert list(job.subscribe(subscription, snapshot=False)) == []
    task.store("plain").put("a", Cell("1"))
    task.store("plain").put("a", Cell("2"))
    task.store("stamped").put("other store", Cell("1"), 0)
    task.publish()
    task.store("plain").put("a", None)
    task.publish()
    assert waiting(subscription) == [Change(0, 2, Entry("a", Cell("2"))), Change(0, 3, Entry("a", None))]
    assert waiting(subscription) == []


def test_rows_come_before_changes(task: WrittenTask, job: JobStores) -> None:
    task.store("plain").put("a", Cell("1"))
    task.store("plain").put("b", Cell("1"))
    task.publish()
    subscription = Subscription("plain", "b")
    assert list(job.subscribe(subscription, snapshot=True)) == [Change(0, 2, Entry("b", Cell("1")))]
    task.store("plain").put("a", Cell("2"))
    task.store("plain").put("b", Cell("2"))
    task.publish()
    assert waiting(subscription) == [Change(0, 3, Entry("b", Cell("2")))]


def has_overflown(subscription: Subscription) -> bool:
    return subscription.end is End.OVERFLOW


def key_of(number: int) -> str:
    return f"k{number:06}"


@pytest.mark.parametrize("taken", [0, 1, 199, 200, 201, 450, 999, 1000])
def test_rows_and_changes_add_up_to_the_store_wherever_a_commit_falls(
    task: WrittenTask, job: JobStores, taken: int
) -> None:
    expected = {key_of(number): Cell("old") for number in range(1000)}
    for key, cell in expected.items():
        task.store("plain").put(key, cell)
    task.publish()
    subscription = Subscription("plain")
    rows = job.subscribe(subscription, snapshot=True)
    seen = {change.entry.key: change.entry.value for change in islice(rows, taken)}
    for number in range(0, 1000, 7):
        task.store("plain").put(key_of(number), None if number % 2 else Cell("new"))
        expected[key_of(number)] = Cell("new")
        if number % 2:
            del expected[key_of(number)]
    for number in range(-5, 2000, 400):
        task.store("plain").put(f"k{number:06}x", Cell("added"))
        expected[f"k{number:06}x"] = Cell("added")
    task.publish()
    for change in rows:
        assert change.entry.key not in seen
        seen[change.entry.key] = change.entry.value
    for change in waiting(subscription):
        assert change.batch == 3
        seen[change.entry.key] = change.entry.value
    assert {key: value for key, value in seen.items() if value is not None} == expected
    task.store("plain").put("k000001", Cell("last"))
    task.publish()
    assert entries(subscription) == [Entry("k000001", Cell("last"))]


def test_an_abandoned_snapshot_holds_no_rows_and_no_lock(task: WrittenTask, job: JobStores) -> None:
    for number in range(1000):
        task.store("plain").put(key_of(number), Cell("old"))
    task.publish()
    subscription = Subscription("plain", capacity=10)
    rows = job.subscribe(subscription, snapshot=True)
    assert next(rows).entry.key == key_of(0)
    for number in range(990, 1000):
        for value in ("1", "2", "3"):
            task.store("plain").put(key_of(number), Cell(value))
            task.publish()
    entries: list[Entry] = []
    reader = threading.Thread(target=lambda: entries.extend(job.get("plain", key_of(999), Bounds(), 1).entries))
    reader.start()
    reader.join(30)
    assert [entry.value for entry in entries] == [Cell("3")]
    assert not has_overflown(subscription), "changes of rows that the scan has not reached are not buffered"
    for number in range(11):
        task.store("plain").put(key_of(number), Cell("new"))
    task.publish()
    assert has_overflown(subscription)
    assert len(list(rows)) < 1000 - 1


@pytest.mark.parametrize(
    ("store", "arguments", "entry"),
    [
        ("stamped", ("k", Cell("1"), 7), Entry("k", Cell("1"), timestamp=7)),
        ("expiring", ("k", Cell("1")), Entry("k", Cell("1"), timestamp=50)),
        ("recent", ("k", Cell("1")), Entry("k", Cell("1"))),
        ("windows", ("k\0", Cell("1"), 20, 23), Entry("k\0", Cell("1"), 20, 30, 23)),
        ("sessions", ("k", 20, 25, Cell("1")), Entry("k", Cell("1"), 20, 25)),
        ("versions", ("k", Cell("1"), 20), Entry("k", Cell("1"), timestamp=20)),
        ("versions", ("k", None, 20), Entry("k", None, timestamp=20)),
        ("lists", ("k", Cell("1")), Entry("k", Cell("1"))),
    ],
)
def test_a_change_of_any_kind_of_store(
    task: WrittenTask, job: JobStores, store: str, arguments: tuple[Any, ...], entry: Entry
) -> None:
    subscription = Subscription(store)
    job.subscribe(subscription, snapshot=False)
    task.at(50)
    task.store(store).put(*arguments)
    task.publish()
    assert entries(subscription) == [entry]


def test_nothing_is_reported_after_the_end(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain")
    job.subscribe(subscription, snapshot=False)
    assert job.subscribers == 1
    job.unsubscribe(subscription)
    assert job.subscribers == 0
    task.store("plain").put("a", Cell("1"))
    task.publish()
    assert waiting(subscription) == []


def test_a_slow_reader_is_informed_after_the_buffered_rows(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain", capacity=2)
    job.subscribe(subscription, snapshot=False)
    for key in "abc":
        task.store("plain").put(key, Cell("1"))
    task.publish()
    taken = [change.entry.key for changes in subscription.changes(0.0) for change in changes]
    assert taken == ["a", "b"]
    assert subscription.end is End.OVERFLOW


def test_a_slow_reader_is_detected_by_the_buffered_bytes(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain", capacity_bytes=5_000)
    job.subscribe(subscription, snapshot=False)
    for key in "abc":
        task.store("plain").put(key, Cell("1" * 2_000))
    task.publish()
    taken = [change.entry.key for changes in subscription.changes(0.0) for change in changes]
    assert (taken, subscription.end) == (["a", "b"], End.OVERFLOW)


def test_read_changes_no_longer_count_and_a_change_may_exceed_the_limit(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain", capacity_bytes=1_000)
    job.subscribe(subscription, snapshot=False)
    changes = subscription.changes(0.0)
    for key in "abc":
        task.store("plain").put(key, Cell("1" * 2_000))
        task.publish()
        assert [change.entry.key for change in next(changes)] == [key]
    assert subscription.end is None


def test_a_restarted_job_ends_pushes_that_followed_it(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain")
    job.subscribe(subscription, snapshot=False)
    with pytest.raises(ChangelogsAnew, match="app-0-task-0 continues under another checkpoint"):
        task.publish(job="another")
    job.close()
    assert [*subscription.changes(60.0)] == [[]]
    assert subscription.end is End.RESTART


def test_a_change_wakes_a_waiting_thread(task: WrittenTask, job: JobStores) -> None:
    subscription = Subscription("plain")
    job.subscribe(subscription, snapshot=False)
    entries: list[Change] = []
    reader = threading.Thread(target=lambda: entries.extend(next(subscription.changes(60.0))))
    reader.start()
    task.store("plain").put("a", Cell("1"))
    task.publish()
    reader.join(30)
    assert [change.entry.key for change in entries] == ["a"]
