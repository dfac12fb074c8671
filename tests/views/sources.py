"""A topic for views, with a column of every type."""

from __future__ import annotations

from forebay.records import Record
from forebay.views import Source, View
from forebay.views.sql import parse_view


class Measured(Record):
    sensor: str
    area: str
    note: str | None
    reading: float | None
    level: int | None
    valid: bool | None
    tags: tuple[str, ...]
    timestamp: int


READINGS = Source("readings", Measured, key="sensor")


def new_record(
    sensor: str = "s-1",
    area: str = "wheel",
    note: str | None = None,
    reading: float | None = None,
    level: int | None = None,
    valid: bool | None = None,
    timestamp: int = 0,
) -> Measured:
    """Return a record whose omitted fields are null."""
    return Measured(sensor, area, note, reading, level, valid, (), timestamp)


def view(sql: str) -> View:
    """Return the view of a SQL text."""
    return parse_view(sql, "v.sql", READINGS)
