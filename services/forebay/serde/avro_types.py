"""Avro schemas as trees of typed nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


class NoDefault:
    """The marker of a field without a default."""

    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True)
class Primitive:
    """null, boolean, int, long, float, double, bytes or string.

    Args:
        logical: Name of a logical type, which determines the valid values; "" if there is no logical type.
    """

    name: str
    logical: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """`size` bytes, written without a length."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class DecimalType:
    """A decimal of at most `precision` digits, `scale` of which are after the point.

    Args:
        precision: Number of digits, 1 or more.
        scale: Number of digits after the point, 0 to `precision`.
        size: Number of bytes of the fixed type as which it is written. None: it is written as bytes.
        name: Name of the fixed type; "" for bytes.
    """

    precision: int
    scale: int
    size: int | None = None
    name: str = ""

    @property
    def text(self) -> str:
        """The type in words, such as `decimal(10, 2)`."""
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of `symbols`. `default` replaces a symbol that the reader does not know."""

    name: str
    symbols: tuple[str, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of `items`."""

    items: AvroType


@dataclass(frozen=True, slots=True)
class Map:
    """Any number of `values` by string."""

    values: AvroType


@dataclass(frozen=True, slots=True)
class Union:
    """A value of one of `branches`, written after the index of the branch."""

    branches: tuple[AvroType, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record. `default` is a JSON value or NO_DEFAULT."""

    name: str
    type: AvroType
    default: Any
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record with its fields, in the order in which they are written."""

    name: str
    fields: tuple[Field, ...]
    aliases: tuple[str, ...] = ()


AvroType: TypeAlias = Primitive | Fixed | DecimalType | Enumeration | Array | Map | Union | Record


def describe(avro: AvroType) -> str:
    """Return the type in words, such as `long`, `map of long`, `null | string`, or the name of a named type."""
    match avro:
        case Primitive(name) | Fixed(name) | Enumeration(name) | Record(name):
            return name
        case DecimalType():
            return avro.text
        case Array(items):
            return f"array of {describe(items)}"
        case Map(values):
            return f"map of {describe(values)}"
        case Union(branches):
            return " | ".join(describe(branch) for branch in branches)
