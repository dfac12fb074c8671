"""Avro schemas as typed trees: what the generators and resolution walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


class NoDefault:
    """Marks a field without a default."""

    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True)
class Primitive:
    """null, boolean, int, long, float, double, bytes or string.

    Args:
        logical: name of a logical type that says which values are valid; "" if there is no logical type.
    """

    name: str
    logical: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """`size` bytes without a length."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class DecimalType:
    """A decimal of at most `precision` digits, `scale` of them behind the point.

    Args:
        precision: number of digits, 1 or more.
        scale: number of digits behind the point, 0 to `precision`.
        size: bytes of the fixed type it is written as; None: written as bytes.
        name: the fixed type's name; "" for bytes.
    """

    precision: int
    scale: int
    size: int | None = None
    name: str = ""

    @property
    def text(self) -> str:
        """Say which decimal this is: `decimal(10, 2)`."""
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of `symbols`; `default` replaces a symbol that the reader does not know."""

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
    """One of `branches`, written with its index."""

    branches: tuple[AvroType, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record; `default` is JSON, or NO_DEFAULT."""

    name: str
    type: AvroType
    default: Any
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Fields in the order they are written."""

    name: str
    fields: tuple[Field, ...]
    aliases: tuple[str, ...] = ()


AvroType: TypeAlias = Primitive | Fixed | DecimalType | Enumeration | Array | Map | Union | Record


def describe(avro: AvroType) -> str:
    """Return the type as people write it: `long`, `map of long`, `null | string`, a named type's name."""
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
