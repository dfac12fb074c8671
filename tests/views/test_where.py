"""WHERE has SQL's three-valued logic: comparisons with null are unknown, and only true conditions select a record."""

from __future__ import annotations

from typing import Any

import pytest

from tests.views.sources import new_record, view


def evaluate(condition: str, **columns: Any) -> bool | None:
    result = view(
        f"CREATE MATERIALIZED VIEW v AS SELECT area, COUNT(*) AS n FROM readings WHERE {condition} GROUP BY area"
    )
    assert result.where is not None
    return result.where(new_record(**columns))


@pytest.mark.parametrize(
    ("condition", "columns", "wanted"),
    [
        ("reading > 41", {"reading": 41.5}, True),
        ("reading > 41", {"reading": 41.0}, False),
        ("reading > 41", {}, None),
        ("reading >= -1.5", {"reading": -1.5}, True),
        ("level < 3", {"level": 2}, True),
        ("level <= 3", {"level": 4}, False),
        ("level = reading", {"level": 2, "reading": 2.0}, True),
        ("3 <> level", {"level": 3}, False),
        ("level != 3", {"level": 4}, True),
        ("area = 'wheel'", {"area": "wheel"}, True),
        ("area = 'wheel'", {"area": "Wheel"}, False),
        ("note > area", {"note": "x", "area": "a"}, True),
        ("area IN ('wheel', 'motor')", {"area": "motor"}, True),
        ("area IN ('wheel', 'motor')", {"area": "cabin"}, False),
        ("level IN (1, 2)", {}, None),
        ("level NOT IN (1, 2)", {"level": 3}, True),
        ("level BETWEEN 2 AND 4", {"level": 4}, True),
        ("level BETWEEN 2 AND 4", {"level": 5}, False),
        ("level NOT BETWEEN 2 AND 4", {"level": 5}, True),
        ("note IS NULL", {}, True),
        ("note IS NOT NULL", {}, False),
        ("NOT note IS NULL", {"note": ""}, True),
        ("valid", {"valid": True}, True),
        ("valid", {}, None),
        ("NOT valid", {"valid": False}, True),
        ("NOT valid", {}, None),
        ("valid IS TRUE", {}, False),
        ("valid IS NOT TRUE", {}, True),
        ("valid = false", {"valid": False}, True),
        ("timestamp > 5", {"timestamp": 6}, True),
    ],
)
def test_conditions(condition: str, columns: dict[str, Any], wanted: bool | None) -> None:
    assert evaluate(condition, **columns) is wanted


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (1, 1, True, True),
        (1, 0, False, True),
        (1, None, None, True),
        (0, 1, False, True),
        (0, 0, False, False),
        (0, None, False, None),
        (None, 1, None, True),
        (None, 0, False, None),
        (None, None, None, None),
    ],
)
def test_and_and_or(left: int | None, right: int | None, both: bool | None, either: bool | None) -> None:
    columns = {"level": left, "reading": None if right is None else float(right)}
    assert evaluate("level = 1 AND reading = 1", **columns) is both
    assert evaluate("level = 1 OR reading = 1", **columns) is either


def test_brackets() -> None:
    columns = {"level": 1, "area": "x"}
    assert evaluate("level = 1 OR level = 2 AND area = 'y'", **columns) is True
    assert evaluate("(level = 1 OR level = 2) AND area = 'y'", **columns) is False
