"""A dry run of `store upgrade` predicts the result of the conversion from the changelogs alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.maintenance.upgrades import Forecast, forecast_task
from forebay.stores import KeyValueStore, TimestampedKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.stores.binding import Store
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.layouts import encode_layout
from forebay.testing.cell import Cell
from tests.stores.upgrading import Task, cell

INTERNAL = "internal"


def versioned_store(history_retention_ms: int) -> VersionedKeyValueStore[Cell]:
    return VersionedKeyValueStore("prices", Cell, history_retention_ms=history_retention_ms)


PLAIN = KeyValueStore("prices", Cell)
TIMESTAMPED = TimestampedKeyValueStore("prices", Cell)


def forecast_of(task: Task, written: Store[Any], declared: Store[Any]) -> Forecast:
    """Return the forecast for a task's rows, written to changelogs as the store `written`."""
    router = ChangelogRouter({"prices": "own"}, INTERNAL, 0, {"prices": written.row_value})
    topics: dict[str, dict[bytes, tuple[bytes, int]]] = {"own": {}, INTERNAL: {}}
    for topic, key, value, timestamp in router.route(list(task.rows().items()), 0):
        if value is not None:
            topics[topic][key] = (value, timestamp)
    (result,) = forecast_task("app-0-0", [declared], topics[INTERNAL], {"prices": topics["own"]})
    return result


def plain_rows() -> Task:
    task = Task()
    store = task.open(PLAIN)
    store.put("soup", cell(1))
    store.put("stew", cell(2))
    task.commit()
    return task


def timestamped_rows() -> Task:
    task = Task()
    store = task.open(TIMESTAMPED)
    store.put("soup", cell(1), 5)
    store.put("stew", cell(2), 900_000)
    task.commit()
    return task


def versioned_rows() -> Task:
    draw = random.Random(1)
    task = Task()
    store = task.open(versioned_store(3_600_000))
    for number in range(300):
        store.put(f"k{draw.randrange(9)}", cell(number), number * 10_000)
    task.commit()
    return task


@pytest.mark.parametrize(
    ("task", "written", "declared"),
    [
        (plain_rows, PLAIN, TIMESTAMPED),
        (plain_rows, PLAIN, versioned_store(5)),
        (timestamped_rows, TIMESTAMPED, PLAIN),
        (timestamped_rows, TIMESTAMPED, versioned_store(5)),
        (versioned_rows, versioned_store(3_600_000), PLAIN),
        (versioned_rows, versioned_store(3_600_000), TIMESTAMPED),
        (versioned_rows, versioned_store(3_600_000), versioned_store(60_000)),
        (versioned_rows, versioned_store(3_600_000), versioned_store(7_200_000)),
    ],
)
def test_it_forecasts_the_numbers_of_the_conversion(task: Any, written: Store[Any], declared: Store[Any]) -> None:
    rows = task()
    forecast = forecast_of(rows, written, declared)
    rows.convert(declared)
    ((read, written_rows, dropped),) = rows.converted
    assert forecast.outcome == f"{read} rows would be read, {written_rows} written or kept, {dropped} dropped"
    assert (forecast.rows, forecast.refused) == (read, False)


def test_a_key_whose_latest_version_is_a_tombstone_counts_as_dropped() -> None:
    task = Task()
    store = task.open(versioned_store(3_600_000))
    store.put("soup", cell(1), 10)
    store.put("soup", None, 20)
    store.put("stew", cell(2), 30)
    task.commit()
    forecast = forecast_of(task, versioned_store(3_600_000), PLAIN)
    assert forecast.outcome == "3 rows would be read, 1 written or kept, 2 dropped"


def test_a_forecast_writes_nothing_and_can_be_repeated() -> None:
    task = plain_rows()
    before = task.rows()
    assert forecast_of(task, PLAIN, versioned_store(5)) == forecast_of(task, PLAIN, versioned_store(5))
    assert task.rows() == before


def test_an_unchanged_store_needs_no_conversion() -> None:
    assert str(forecast_of(plain_rows(), PLAIN, PLAIN)) == (
        "app-0-0: store prices: 2 rows, recorded key-value, declared key-value: nothing to do"
    )


def test_rows_without_a_record_of_their_kind_count_as_the_declared_one() -> None:
    task = Task()
    task.table.apply([(b"prices\0soup", b"1")], b"1")
    assert "nothing to do: its rows are assumed to have the declared format" in forecast_of(task, PLAIN, PLAIN).outcome


def test_two_store_formats_without_a_conversion_are_refused() -> None:
    forecast = forecast_of(plain_rows(), PLAIN, WindowStore("prices", Cell, size_ms=1, retention_ms=1))
    assert forecast.refused
    assert "there is no conversion between the two" in forecast.outcome


def test_a_forecast_refuses_rows_of_another_record_format_first() -> None:
    task = plain_rows()
    task.table.apply([(LAYOUTS + b"prices", encode_layout({"values": "long", "keys": "text"}))], b"2")
    for declared in (KeyValueStore("prices", str), TimestampedKeyValueStore("prices", str)):
        forecast = forecast_of(task, PLAIN, declared)
        assert forecast.refused
        assert "holds rows of long, but is declared with text" in forecast.outcome
