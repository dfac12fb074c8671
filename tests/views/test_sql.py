"""A view's SQL says what the view is; names are lower case unless quoted."""

from __future__ import annotations

import pytest

from forebay.views.model import Aggregate, Function, Group
from tests.views.sources import READINGS, view

PLAIN = "CREATE MATERIALIZED VIEW area_sums AS SELECT area, SUM(reading) AS total FROM readings GROUP BY area"


def test_a_view() -> None:
    found = view(PLAIN)
    assert (found.name, found.store, found.group_by, found.by_key) == ("area_sums", "area-sums", ("area",), False)
    assert found.select == (
        Group("area", READINGS.columns["area"]),
        Aggregate("total", Function.SUM, READINGS.columns["reading"]),
    )
    assert (found.where, found.uses) == (None, frozenset({"area", "reading"}))


def test_grouped_by_the_topic_s_key() -> None:
    assert view("CREATE MATERIALIZED VIEW v AS SELECT sensor, COUNT(*) AS n FROM readings GROUP BY sensor").by_key


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
def test_the_same_view_written_otherwise(sql: str) -> None:
    assert view(sql) == view(PLAIN)


def test_every_function_and_a_renamed_key() -> None:
    found = view(
        "CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n, area AS place, COUNT(note) AS notes, AVG(level) AS mean, "
        "MIN(reading) AS least, MAX(note) AS last_note FROM readings GROUP BY area"
    )
    assert [each.name for each in found.select] == ["n", "place", "notes", "mean", "least", "last_note"]
    assert [each.text for each in found.aggregates] == [
        "COUNT(*)",
        "COUNT(note)",
        "AVG(level)",
        "MIN(reading)",
        "MAX(note)",
    ]
    assert [(each.type, each.nullable) for each in found.aggregates] == [
        (int, False),
        (int, False),
        (float, True),
        (float, True),
        (str, True),
    ]


def test_groups_of_several_columns() -> None:
    found = view("CREATE MATERIALIZED VIEW v AS SELECT note, area, COUNT(*) AS n FROM readings GROUP BY area, note")
    assert found.group_by == ("area", "note")
    assert not found.by_key
