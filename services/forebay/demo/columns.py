"""Which fields of a service's results the demo shows, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a result.

    Args:
        title: the column's heading.
        path: names that lead to the field, joined by dots.
        width: characters it takes.
        show: gives the field's value as text; missing ones are empty.
    """

    title: str
    path: str
    width: int
    show: Callable[[Any], str] = str

    def text(self, record: Record) -> str:
        """Give the field as text."""
        value: Any = record
        for name in self.path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return "" if value is None else self.show(value)


def _duration(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _list(items: list[str]) -> str:
    return " ".join(items)


_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "user-sessions": (
        Column("user", "user_id", 11),
        Column("last action", "activity.action", 11),
        Column("sessions", "session_totals.total_sessions", 8),
        Column("time", "session_totals.total_time_ms", 8, _duration),
        Column("ended session", "ended_session.actions", 13, "{} events".format),
        Column("top page", "user_profile.most_visited_pages", 13, lambda pages: pages[0] if pages else ""),
        Column("page", "activity.page", 13),
        Column("from", "user_profile.countries_visited", 11, _list),
        Column("with", "user_profile.devices_used", 21, _list),
    ),
}


def columns_of(service: str, record: Record) -> tuple[Column, ...]:
    """Give the columns of a service's results; those of one not listed here are its first plain fields."""
    if service in _COLUMNS:
        return _COLUMNS[service]
    plain = [name for name, value in record.items() if isinstance(value, str | int | float | bool)]
    return tuple(Column(name, name, max(12, len(name))) for name in plain[:6])
