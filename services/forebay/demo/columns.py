"""The columns in which the demo shows fields of a service's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from forebay.catalog import all_services
from forebay.demo import units
from forebay.service.plugins import attribute_of

Record = Mapping[str, Any]
_LINE = 'COLUMNS = {"TOPIC": (Column("title", "field", 12), ...)}'


@dataclass(frozen=True, slots=True)
class Column:
    """A column for a field of results.

    Args:
        title: heading of the column.
        path: path of the field, with dots between names.
        width: width in characters.
        show: returns the text of a value. Missing fields are empty.
    """

    title: str
    path: str
    width: int
    show: Callable[[Any], str] = str

    def text(self, record: Record) -> str:
        """Return the field as text."""
        value: Any = record
        for name in self.path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return "" if value is None else self.show(value)


def duration(ms: int) -> str:
    """Return a time in ms as hours, minutes, seconds."""
    seconds = ms // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def milliseconds(ms: float) -> str:
    """Return a time in ms."""
    return f"{ms:,.0f} ms"


def clock(ms: int) -> str:
    """Return a moment (ms since the epoch) as a time of day in UTC."""
    return units.clock(ms / 1000)


def money(amount: Decimal | float) -> str:
    """Return an amount with its hundredths."""
    return f"{amount:,.2f}"


def join_words(items: list[str]) -> str:
    """Return words separated by spaces."""
    return " ".join(items)


def columns_of(topic: str, record: Record) -> tuple[Column, ...]:
    """Return the columns that a service declares for an output topic, or columns of the records' first plain fields.

    Raises:
        PluginError: a service's columns can't be imported.
    """
    for service in all_services().values():
        if service.columns and topic in {output.name for output in service.outputs}:
            said: Mapping[str, tuple[Column, ...]] = attribute_of(
                service.columns, "COLUMNS", f"{service.columns} (columns of {service.name})", _LINE
            )
            if topic in said:
                return said[topic]
    plain = [name for name, value in record.items() if isinstance(value, str | int | float | bool)]
    return tuple(Column(name, name, max(12, len(name))) for name in plain[:6])
