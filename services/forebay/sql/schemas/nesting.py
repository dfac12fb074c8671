"""Types of a schema's named types, which can be recursive."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from forebay.sql.types import SqlType, StructType

MOST_FIELDS = 10_000
"""Largest number of fields of a schema's columns, including those of all nested types."""


class TooManyFields(Exception):
    """The columns of a schema have more than MOST_FIELDS fields, including nested fields."""


class Nesting:
    """The named types of a schema, which are converted as often as necessary.

    A recursive type has no finite STRUCT, so a field is skipped if its type contains the field. A type can therefore be
    a different STRUCT at a different place. It depends only on the types that contain the place, and not on the order
    of conversions.
    """

    def __init__(self) -> None:
        self._known: dict[str, SqlType | None] = {}
        self._open: set[str] = set()
        self._cuts: set[str] = set()
        self._fields = 0

    def type_of(self, name: str, read: Callable[[], SqlType | None]) -> SqlType | None:
        """Return the type with a name, or None if it contains the current place or has no SQL type.

        Args:
            name: The name.
            read: Converts the type.

        Raises:
            TooManyFields: The types expand to too many fields.
        """
        if name in self._known:
            return self._known[name]
        self._count(1)
        if name in self._open:
            self._cuts.add(name)
            return None
        around, self._cuts = self._cuts, set()
        self._open.add(name)
        kind = read()
        self._open.remove(name)
        # A type on a cycle is another STRUCT within another type of the cycle. Every cycle through this type ends in a
        # cut of the type itself or of a type around it, so only a type without cuts is the same everywhere.
        if not self._cuts:
            self._known[name] = kind
        self._cuts = around | (self._cuts - {name})
        return kind

    def struct(self, fields: Iterable[tuple[str, SqlType | None]]) -> StructType:
        """Return the STRUCT of fields without those that have no type. Raises TooManyFields."""
        present = tuple((name, kind) for name, kind in fields if kind is not None)
        self._count(len(present))
        return StructType(present)

    def _count(self, fields: int) -> None:
        self._fields += fields
        if self._fields > MOST_FIELDS:
            raise TooManyFields
