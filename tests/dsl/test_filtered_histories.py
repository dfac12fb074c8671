"""The history of a filtered table has no row at any time at which the row of the original table did not pass."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forebay.builder import Table, Topology
from tests.dsl.driving import Driven

HISTORY_MS = 30


def is_kept(_: str, number: int) -> bool:
    return number % 3 != 0


def positive(_: str, number: int) -> int | None:
    return number if number % 5 else None


def visible(number: int | None) -> int | None:
    return None if number is None or not is_kept("", number) else positive("", number)


def build_filter(table: Table[str, int]) -> Table[str, int]:
    return table.filter(is_kept).map_values(positive, int).materialized("passing", history_retention_ms=10_000)


def build_two_histories(table: Table[str, int]) -> Table[str, int]:
    filtered = table.filter(is_kept).materialized("kept", history_retention_ms=10_000)
    return filtered.map_values(positive, int).materialized("passing", history_retention_ms=10_000)


def records(seed: int) -> list[tuple[str, str, int | None, int]]:
    """Return (topic, key, value, timestamp), of which many are late."""
    draw, now, records = random.Random(seed), 100, []
    for number in range(60):
        now += draw.choice((0, 1, 2, 5, 9))
        topic, back = draw.choice(("in", "rows")), draw.choice((0, 0, 1, 8, 25))
        is_deleted = topic == "rows" and draw.random() < 0.2
        records.append((topic, draw.choice("ab"), None if is_deleted else number, now - back))
    return records


def expected_rows(given: list[tuple[str, str, int | None, int]]) -> list[tuple[str, str, int]]:
    """Return the results of a left join with the row that passes at each record's timestamp."""
    stream_time, versions, results = -1, dict[str, dict[int, int | None]](), []
    for topic, key, value, at in given:
        history = versions.setdefault(key, {})
        if topic == "rows" and at >= stream_time - HISTORY_MS:
            history[at], stream_time = value, max(stream_time, at)
        elif topic == "in":
            valid = [start for start in history if start <= at]
            row = visible(history[max(valid)]) if valid else None
            results.append((key, f"{value} {row}", at))
    return results


@pytest.mark.parametrize("build_table", [build_filter, build_two_histories])
@pytest.mark.parametrize("is_rekeyed", [False, True])
def test_as_of_join_finds_the_row_that_passed_the_filter_at_that_time(build_table: Any, is_rekeyed: bool) -> None:
    def build(t: Topology) -> None:
        rows = build_table(t.table("rows", int, store="rows", history_retention_ms=HISTORY_MS))
        stream = t.stream("in", int)
        if is_rekeyed:
            stream = stream.select_key(lambda key, _: key, str)
        stream.left_join(rows, lambda number, row: f"{number} {row}", str).to("out")

    for seed in range(8):
        given, run = records(seed), Driven(build)
        for topic, key, value, at in given:
            run.driver.pipe(key, value, topic, at)
        assert run.by_topic("out") == expected_rows(given)


def test_operators_without_history_get_no_extra_changes() -> None:
    def build(t: Topology) -> None:
        passing = t.table("rows", int, store="rows", history_retention_ms=HISTORY_MS).filter(is_kept)
        passing.to_stream().to("out")
        filtered = passing.materialized("kept", history_retention_ms=HISTORY_MS)
        filtered.to_stream().to("kept-out")
        filtered.filter(lambda _, number: number > 0).materialized("again", history_retention_ms=HISTORY_MS)

    run = Driven(build)
    run.feed("rows", ("a", 3, 10), ("a", None, 11), ("a", 4, 12), ("a", 6, 13), ("a", 9, 14))
    changes = [("a", 4, 12), ("a", None, 13)]
    assert run.by_topic("out") == run.by_topic("kept-out") == changes
