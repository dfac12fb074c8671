"""An independent implementation of the service's rules, with which outputs and stores are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str, str | None, Value | None, int]
"""Topic, key, value by field name, event time in ms."""
Output = tuple[str, Value, int]
"""Topic, value, timestamp in ms."""
Latest = dict[str, tuple[str | None, int]]
"""Dish or region (None if withdrawn) and timestamp by customer."""
Stores = dict[str, Any]

FIELDS = {"customer_votes": "dish", "customer_regions": "region"}


def replay(
    records: Iterable[Record],
    history_retention_ms: int = 600_000,
    dedupe_retention_ms: int = 600_000,
    task_of: Callable[[str], int] = lambda _: 0,
) -> tuple[list[Output], Stores]:
    """Return the outputs in order, and the final stores: the latest row of each customer, and the counts of each group.

    The stores are valid for any number of tasks, the outputs only for one task.

    Args:
        records: Records in the order in which their tasks process them.
        task_of: Function that returns the task of a key. Each task has separate times and repetitions.
    """
    poll = _Poll(history_retention_ms, dedupe_retention_ms)
    for topic, key, value, timestamp in records:
        if key is not None and timestamp >= 0 and (value is None or complete(topic, value)):
            poll.take(task_of(key), topic, key, value, timestamp)
    return poll.outputs, {
        "votes": present(poll.latest["customer_votes"]),
        "regions": present(poll.latest["customer_regions"]),
        "dish-counts": poll.by_dish,
        "region-counts": poll.by_region,
    }


def final_stores(records: Iterable[Record]) -> Stores:
    """Return the final stores if nothing is late. They depend on timestamps alone, not on the order of arrival."""
    in_time = sorted(records, key=lambda record: record[3])
    return replay(in_time, history_retention_ms=1 << 60, dedupe_retention_ms=1 << 60)[1]


def complete(topic: str, value: Value) -> bool:
    return isinstance(value.get(FIELDS[topic]), str) and isinstance(value.get("timestamp"), int)


def present(latest: Latest) -> Latest:
    return {customer: (choice, timestamp) for customer, (choice, timestamp) in latest.items() if choice is not None}


class _Poll:
    def __init__(self, history_retention_ms: int, dedupe_retention_ms: int) -> None:
        self.history_ms = history_retention_ms
        self.retention_ms = dedupe_retention_ms
        self.repetitions: dict[int, Repetitions] = {}
        self.stream_time: dict[int, int] = {}
        self.newest: dict[tuple[int, str], int] = {}
        self.latest: dict[str, Latest] = {"customer_votes": {}, "customer_regions": {}}
        self.by_dish: dict[str, int] = {}
        self.by_region: dict[tuple[str, str], int] = {}
        self.times: dict[tuple[str, ...], int] = {}
        self.outputs: list[Output] = []

    def take(self, task: int, topic: str, customer: str, value: Value | None, timestamp: int) -> None:
        repetitions = self.repetitions.setdefault(task, Repetitions(self.retention_ms))
        time = max(self.stream_time.get(task, -1), timestamp)
        given = {} if value is None else value
        event_id = None if given.get("event_id") is None else f"{topic} {given['event_id']}"
        choice = given.get(FIELDS[topic])
        if repetitions.known(event_id, time):
            return
        self.stream_time[task] = time
        newest = self.newest.get((task, topic), -1)
        if choice == "" or timestamp < newest - self.history_ms:
            return
        repetitions.accept(event_id, time)
        self.newest[task, topic] = max(newest, timestamp)
        if timestamp >= self.latest[topic].get(customer, ("", -1))[1]:
            self.change(topic, customer, choice, timestamp)

    def change(self, topic: str, customer: str, choice: str | None, timestamp: int) -> None:
        vote, region = self.row(customer)
        self.latest[topic][customer] = (choice, timestamp)
        new_vote, new_region = self.row(customer)
        if topic == "customer_votes":
            self.move((vote,), (new_vote,), timestamp)
        (other,) = self.latest.keys() - {topic}
        partner, since = self.latest[other].get(customer, (None, -1))
        if partner is not None:
            both = max(timestamp, since)
            self.move((region, vote), (new_region, new_vote), both)

    def row(self, customer: str) -> tuple[str | None, str | None]:
        votes, regions = self.latest["customer_votes"], self.latest["customer_regions"]
        return votes.get(customer, (None, 0))[0], regions.get(customer, (None, 0))[0]

    def move(self, old: tuple[str | None, ...], new: tuple[str | None, ...], timestamp: int) -> None:
        if old != new:
            self.count(old, -1, timestamp)
            self.count(new, 1, timestamp)
        else:
            self.count(new, 0, timestamp)

    def count(self, group: tuple[str | None, ...], by: int, timestamp: int) -> None:
        names = tuple(name for name in group if name is not None)
        if len(names) < len(group):
            return
        self.times[names] = max(self.times.get(names, -1), timestamp)
        if len(names) == 1:
            dish = names[0]
            self.by_dish[dish] = self.by_dish.get(dish, 0) + by
            value: Value = {"dish": dish, "votes": self.by_dish[dish]}
            self.outputs.append(("vote_counts", value, self.times[names]))
        else:
            region, dish = names
            self.by_region[region, dish] = self.by_region.get((region, dish), 0) + by
            value = {"region": region, "dish": dish, "votes": self.by_region[region, dish]}
            self.outputs.append(("votes_by_region", value, self.times[names]))
