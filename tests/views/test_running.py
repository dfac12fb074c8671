"""Views have correct results. Only groupings by another value than the key need a repartition."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.builder import job
from forebay.interactive.pickling import dumps, loads
from forebay.processor import RejectedRecord
from forebay.records import fields_of
from forebay.runtime.errors import StoreChanged
from forebay.service.agreement import store_contracts
from forebay.stores.keys import split_key
from forebay.testing import TestDriver
from forebay.views import Source, load_views, views_job, views_topology
from forebay.views.contracts import contracts_of
from tests.plain import plain
from tests.states import state_of
from tests.views.sources import READINGS, Measured, new_record


@dataclass(frozen=True, slots=True)
class Settings:
    pass


VIEWS = {
    "by_sensor": "SELECT sensor, AVG(reading) AS mean, MAX(timestamp) AS last FROM readings GROUP BY sensor",
    "by_area": "SELECT area, COUNT(*) AS n, SUM(reading) AS total, SUM(level) AS levels FROM readings GROUP BY area",
    "high": "SELECT area, COUNT(reading) AS n FROM readings WHERE reading > 10 GROUP BY area",
    "by_note": "SELECT note AS remark, MIN(level) AS least, AVG(level) AS mean FROM readings GROUP BY note",
    "both": "SELECT COUNT(*) AS n, sensor, area FROM readings GROUP BY area, sensor",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    for name, select in VIEWS.items():
        (folder / f"{name}.sql").write_text(f"CREATE MATERIALIZED VIEW {name} AS {select}")
    return folder


@pytest.fixture
def run(folder: Path) -> TestDriver:
    return TestDriver(views_job(Settings, READINGS, load_views(folder, READINGS)))


def rows(run: TestDriver, *records: Measured) -> dict[str, dict[str, dict[str, Any]]]:
    """Process records, and return the last row of each group by view."""
    tables: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for record in records:
        for sent in run.pipe(record.sensor, record):
            tables[sent.topic][sent.key] = plain(sent.value)
    return tables


def test_each_grouping_but_the_key_s_is_a_stage(folder: Path) -> None:
    result = views_job(Settings, READINGS, load_views(folder, READINGS))
    crossings = {name: record for part in result.topology for name, record in part.repartitions.items()}
    assert {name: list(fields_of(record)) for name, record in crossings.items()} == {
        "by-area-sensor": ["sensor", "area", "note", "reading", "level", "timestamp"],
        "by-area": ["area", "note", "reading", "level", "timestamp"],
        "by-note": ["note", "level", "timestamp"],
    }
    assert [(part.name, part.sends) for part in result.topology] == [
        ("", frozenset({"by-area-sensor"})),
        ("by-area-sensor", frozenset({"by-area"})),
        ("by-area", frozenset({"by-note"})),
        ("by-note", frozenset()),
    ]


def test_rows(run: TestDriver) -> None:
    tables = rows(
        run,
        new_record("s-1", "wheel", reading=10.0, level=3, timestamp=7),
        new_record("s-1", "wheel", reading=11.0, timestamp=5),
        new_record("s-2", "wheel", "late", level=4, timestamp=6),
    )
    assert tables["by_sensor"] == {
        "s-1": {"sensor": "s-1", "mean": 10.5, "last": 7},
        "s-2": {"sensor": "s-2", "mean": None, "last": 6},
    }
    assert tables["by_area"] == {"wheel": {"area": "wheel", "n": 3, "total": 21.0, "levels": 7}}
    assert tables["high"] == {"wheel": {"area": "wheel", "n": 1}}
    assert {split_key(key): row for key, row in tables["both"].items()} == {
        ("wheel", "s-1"): {"n": 2, "sensor": "s-1", "area": "wheel"},
        ("wheel", "s-2"): {"n": 1, "sensor": "s-2", "area": "wheel"},
    }


def test_a_null_belongs_to_no_group_and_counts_in_the_others(run: TestDriver) -> None:
    tables = rows(run, new_record("s-1", "wheel", None, level=1), new_record("s-1", "wheel", "cold", level=5))
    assert tables["by_note"] == {"cold": {"remark": "cold", "least": 5, "mean": 5.0}}
    assert tables["by_area"]["wheel"]["n"] == 2


def test_a_record_that_no_view_may_count_is_refused_before_any_counts_it(folder: Path) -> None:
    def check(record: Measured) -> None:
        if record.area == "nowhere":
            raise RejectedRecord("area is nowhere")

    source = Source("readings", Measured, key="sensor", check=check)
    run = TestDriver(views_job(Settings, source, load_views(folder, source)))
    assert run.pipe("s-1", new_record(area="nowhere")) == []
    assert run.pipe("s-2", new_record("s-1")) == []
    assert run.pipe("s-1", new_record(reading=float("nan"))) == []
    reasons = [error.headers["error.message"] for error in run.errors]
    assert reasons[0] == "area is nowhere"
    assert reasons[1].startswith("sensor is 's-1' but the record's key is 's-2'")
    assert reasons[2] == "reading is nan: the producer must send a finite number"


def test_rows_survive_a_restart(run: TestDriver) -> None:
    rows(run, new_record(reading=1.0, level=1))
    run.restart()
    tables = rows(run, new_record(reading=2.0, level=2))
    assert tables["by_sensor"]["s-1"]["mean"] == 1.5
    assert tables["by_area"]["wheel"]["levels"] == 3


def test_contracts_name_what_is_stored_and_what_crosses(folder: Path) -> None:
    built = views_job(Settings, READINGS, load_views(folder, READINGS))
    names = [name for name, _ in contracts_of(built, "shop")]
    assert set(names) == {
        *(name for view in ("BySensor", "ByArea", "High", "ByNote", "Both") for name in (view, f"{view}Totals")),
        *("MeasuredByAreaSensor", "MeasuredByArea", "MeasuredByNote"),
    }
    assert store_contracts(built, Settings())["by-area"] == "ByAreaTotals"


def test_a_topology_is_the_same_each_time_it_is_made(folder: Path) -> None:
    views = load_views(folder, READINGS)
    result = views_job(Settings, READINGS, views)
    (record,) = result.topology[1].repartitions.values()
    assert result.logic(1)(Settings()).component.reads[0].value.type is record  # type: ignore[attr-defined]
    assert job(Settings, lambda _: views_topology(READINGS, views)).inputs == {"readings": Measured}


def test_views_of_a_program_are_copied_to_another_process(folder: Path) -> None:
    copy = loads(dumps(views_topology(READINGS, load_views(folder, READINGS))))
    tables = rows(TestDriver(job(Settings, lambda _: copy)), new_record(reading=11.0), new_record(reading=None))
    assert tables["by_sensor"]["s-1"]["mean"] == 11.0
    assert tables["high"] == {"wheel": {"area": "wheel", "n": 1}}


records = st.builds(
    new_record,
    st.sampled_from(["s-1", "s-2"]),
    st.sampled_from(["wheel", "motor"]),
    st.sampled_from([None, "cold"]),
    st.one_of(st.none(), st.floats(-1e9, 1e9)),
    st.one_of(st.none(), st.integers(-5, 5)),
    timestamp=st.integers(0, 9),
)


@pytest.mark.long
@settings(max_examples=25)
@given(st.lists(records, max_size=15))
def test_rows_are_those_of_the_whole_query(folder: Path, arrived: list[Measured]) -> None:
    tables = rows(TestDriver(views_job(Settings, READINGS, load_views(folder, READINGS))), *arrived)
    areas: dict[str, list[Measured]] = defaultdict(list)
    notes: dict[str, list[Measured]] = defaultdict(list)
    for record in arrived:
        areas[record.area].append(record)
        if record.note is not None:
            notes[record.note].append(record)
    assert tables["by_area"] == {
        area: {
            "area": area,
            "n": len(those),
            "total": total([item.reading for item in those]),
            "levels": total([item.level for item in those]),
        }
        for area, those in areas.items()
    }
    assert tables["by_note"].keys() == notes.keys()
    for note, those in notes.items():
        levels = [item.level for item in those if item.level is not None]
        assert tables["by_note"][note] == {
            "remark": note,
            "least": min(levels, default=None),
            "mean": sum(levels) / len(levels) if levels else None,
        }
    high = {area for area, those in areas.items() if any(item.reading and item.reading > 10 for item in those)}
    assert tables["high"].keys() == high


def total(values: list[Any]) -> float | int | None:
    results = [value for value in values if value is not None]
    if not results:
        return None
    return sum(results) if isinstance(results[0], int) else float(sum(map(Fraction, results), Fraction(0)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("area, SUM(reading) AS total", "area, SUM(timestamp) AS total"),
        ("area, MIN(reading) AS total", "area, MAX(reading) AS total"),
        ("area, SUM(reading) AS total", "note, SUM(reading) AS total"),
    ],
)
def test_a_view_of_other_columns_is_refused(before: str, after: str, tmp_path: Path) -> None:
    def driver_of(columns: str) -> TestDriver:
        select = f"SELECT {columns} FROM readings GROUP BY {columns.partition(',')[0]}"
        (tmp_path / "v.sql").write_text(f"CREATE MATERIALIZED VIEW v AS {select}")
        return TestDriver(views_job(Settings, READINGS, load_views(tmp_path, READINGS)), tasks=1)

    old = driver_of(before)
    old.pipe("s-1", new_record(reading=2.5, note="n"))
    left = state_of(old)
    driver_of(before).restore(left)
    with pytest.raises(StoreChanged, match=r"store v holds rows of AVRO .* but is declared with AVRO"):
        driver_of(after).restore(left)
