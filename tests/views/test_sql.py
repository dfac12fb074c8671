"""A view's SQL determines the view, and names are lower case unless they are quoted."""

from __future__ import annotations

import typing

import pytest

from forebay.views import View
from forebay.views.records import row_records
from tests.views.sources import READINGS, view

PLAIN = "CREATE MATERIALIZED VIEW area_sums AS SELECT area, SUM(reading) AS total FROM readings GROUP BY area"


def test_a_view_is_a_plan() -> None:
    result = view(PLAIN)
    assert (result.name, result.store, result.group_by, result.by_key) == ("area_sums", "area-sums", ("area",), False)
    assert (result.select, result.groups) == (("area", "total"), {"area": READINGS.columns["area"]})
    assert (result.where, result.columns) == (None, ("area", "reading"))
    assert list(result.plan.lines()) == [
        "CTAS_area_sums_0: table area_sums -> topic area_sums",
        "  columns area STRING KEY, total DOUBLE",
        "  select SUM(readings.reading) as total",
        "    aggregate SUM(readings.reading)",
        "      key readings.area (KAFKA), repartition",
        "        read stream readings: area, reading",
    ]


def test_grouped_by_the_topic_s_key() -> None:
    result = view("CREATE MATERIALIZED VIEW v AS SELECT sensor, COUNT(*) AS n FROM readings GROUP BY sensor")
    assert result.by_key
    assert "key readings.sensor (KAFKA)" in "\n".join(result.plan.lines()).splitlines()[4]


def computation(found: View) -> tuple[object, ...]:
    """Return the computation of a view, independent of the form of its SQL."""
    arguments = [argument.bound for arguments in found.aggregate_step.arguments for argument in arguments]
    return found.name, found.select, found.groups, found.columns, arguments


@pytest.mark.parametrize(
    "sql",
    [
        PLAIN.lower(),
        PLAIN.upper(),
        f"-- a comment\n{PLAIN};\n/* and another */",
        PLAIN.replace("area, SUM", '"area", SUM').replace("AS total", 'AS "total"'),
        PLAIN.replace("FROM readings", "FROM readings AS r").replace("SUM(reading)", "SUM(r.reading)"),
        PLAIN.replace("SUM(reading)", "SUM(readings.reading)"),
    ],
)
def test_the_same_view_written_differently(sql: str) -> None:
    assert computation(view(sql)) == computation(view(PLAIN))


def test_every_function_and_a_renamed_key() -> None:
    result = view(
        "CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n, area AS place, COUNT(note) AS notes, AVG(level) AS mean, "
        "MIN(reading) AS least, MAX(note) AS last_note FROM readings GROUP BY area"
    )
    assert typing.get_type_hints(row_records(result).row) == {
        "n": int,
        "place": str,
        "notes": int,
        "mean": float | None,
        "least": float | None,
        "last_note": str | None,
    }


def test_one_aggregate_under_two_names() -> None:
    result = view(
        "CREATE MATERIALIZED VIEW v AS SELECT area, AVG(level) AS a, AVG(level) AS b FROM readings GROUP BY area"
    )
    assert list(typing.get_type_hints(row_records(result).stored)) == ["area", "a", "b", "a_total", "b_total"]


def test_groups_of_several_columns() -> None:
    result = view("CREATE MATERIALIZED VIEW v AS SELECT note, area, COUNT(*) AS n FROM readings GROUP BY area, note")
    assert result.group_by == ("area", "note")
    assert not result.by_key
