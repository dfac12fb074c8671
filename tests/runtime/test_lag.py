"""Lag is the number of records that a task has not committed yet, not counting transaction markers."""

from __future__ import annotations

import json

import pytest

from forebay.runtime.observability.reported_lag import FRESH_SECONDS, ReportedLag
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.lag import measure_lag
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.statistics import TaskFigures
from tests.runtime.records import give

MERGED = pytest.mark.parametrize("partitions", [1, 2])
LONG = [f"{number:02}-" + "n" * 240 for number in range(60)]


def inputs(partitions: int) -> tuple[InputPartition, TaskInput]:
    parts = [InputPartition("orders", number, 1, 0) for number in range(partitions)]
    for part in parts[1:]:
        part.reach_end(0)
    return parts[0], TaskInput(parts)


def ends(end: int) -> dict[tuple[str, int], int]:
    return {("orders", 0): end}


@MERGED
def test_records_count_until_their_commit_has_completed(partitions: int) -> None:
    part, item = inputs(partitions)
    give(part, 1, 2, 3, 4)
    assert measure_lag(item, ends(4)) == {"orders": [0, 4]}
    item.ready(3)
    assert measure_lag(item, ends(4)) == {"orders": [0, 4]}, "a commit in progress is not through"
    item.finish_commit()
    assert measure_lag(item, ends(4)) == {"orders": [0, 1]}


@MERGED
def test_records_that_a_commit_returns_count_once(partitions: int) -> None:
    part, item = inputs(partitions)
    give(part, 1, 2, 3, 4)
    taken = item.ready(4)
    item.give_back(taken, [1] + [0] * (partitions - 1))
    assert measure_lag(item, ends(4)) == {"orders": [0, 4]}
    item.finish_commit()
    assert measure_lag(item, ends(4)) == {"orders": [0, 3]}


def test_records_that_the_client_has_not_fetched_count() -> None:
    part, item = inputs(1)
    give(part, 1, 2)
    assert measure_lag(item, ends(1_002)) == {"orders": [0, 1_002]}


def test_markers_between_records_and_at_the_end_do_not_count() -> None:
    part, item = inputs(1)
    give(part, 1)
    part.next += 5
    give(part, 2)
    part.reach_end(8)
    assert measure_lag(item, ends(8)) == {"orders": [0, 2]}
    item.ready(2)
    item.finish_commit()
    assert measure_lag(item, ends(8)) == {}


def test_an_open_transaction_behind_the_end_does_not_count() -> None:
    part, item = inputs(1)
    part.reach_end(3)
    assert measure_lag(item, ends(500)) == {}


def test_records_that_arrive_while_logic_is_busy_count() -> None:
    part, item = inputs(1)
    give(part, 1)
    part.reach_end(1)
    item.ready(1)
    assert measure_lag(item, ends(500)) == {"orders": [0, 500]}


def report(task: int, at: int, lag: dict[str, list[int]] | None) -> TaskFigures:
    return TaskFigures.from_json(TaskFigures(0, task, at=at, lag=lag).to_json())


def test_a_partition_s_lag_is_what_its_task_reported() -> None:
    reported = ReportedLag(lambda: 0.0)
    reported.observe([report(0, 1, {"orders": [0, 7, 2, 9]}), report(1, 1, {})])
    assert [reported.of("orders", partition, 2) for partition in range(4)] == [7, 0, 9, 0]


def test_a_global_table_s_lag_is_that_of_the_task_furthest_behind() -> None:
    reported = ReportedLag(lambda: 0.0)
    reported.observe([report(0, 1, {"prices": [0, 7]}), report(1, 1, {"prices": [0, 30]})])
    assert reported.of("prices", 0, 2) == 30


def test_the_lag_of_a_task_without_a_recent_report_is_left_to_the_broker() -> None:
    now = [0.0]
    reported = ReportedLag(lambda: now[0])
    reported.observe([report(0, 1, {"orders": [0, 7]}), report(1, 1, None)])
    assert [reported.of("orders", partition, 3) for partition in range(3)] == [7, None, None]
    now[0] = FRESH_SECONDS + 1
    reported.observe([report(0, 1, {"orders": [0, 7]})])
    assert reported.of("orders", 0, 3) is None, "an old report that is read again says nothing new"
    reported.observe([report(0, 2, {"orders": [0, 8]})])
    assert reported.of("orders", 0, 3) == 8


def test_a_lag_that_does_not_fit_into_a_report_is_unknown() -> None:
    figures = TaskFigures(0, 1, lag={name: [1, 5] for name in LONG})
    text = figures.to_json()
    assert len(json.dumps({"trouble": "t" * 300, "figures": text})) < 4_096
    assert TaskFigures.from_json(text).lag is None
