"""Functions for arrays, maps and structs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import copysign, isnan
from typing import Any

from forebay.sql import casts
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import first, function, item_of, special
from forebay.sql.limits import create_items, create_letters
from forebay.sql.order import rank, smallest_to_largest
from forebay.sql.syntax import Call
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    INT,
    NULL,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)


def identity(value: Any) -> Any:
    """Return a key by which values are equal as in Java's `equals`. NaN equals NaN, and 0.0 differs from -0.0.

    Numbers of different types are equal if their values are equal, so 0 equals 0.0.
    """
    if isinstance(value, float):
        return (float, repr(value)) if isnan(value) or (value == 0 and copysign(1, value) < 0) else value
    if isinstance(value, dict):
        return frozenset((key, identity(item)) for key, item in value.items())
    return tuple(map(identity, value)) if isinstance(value, tuple) else value


def distinct(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct values in the order of their first occurrence."""
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(identity(value), value)
    return tuple(seen.values())


def sort(values: Sequence[Any], direction: str = "ASC") -> tuple[Any, ...] | None:
    """Return the values in sorted order with nulls last, or None for an unknown direction."""
    descends = {"ASC": False, "ASCENDING": False, "DESC": True, "DESCENDING": True}.get(direction.upper())
    if descends is None:
        return None
    given = smallest_to_largest(value for value in values if value is not None)
    return (*(reversed(given) if descends else given), *(None for value in values if value is None))


def largest(values: Iterable[Any]) -> Any:
    """Return the largest value that is not null, or None if all values are null."""
    # `rank` orders NaN as in Java. Without it, the result would depend on the position of NaN.
    return max((value for value in values if value is not None), key=rank, default=None)


def smallest(values: Iterable[Any]) -> Any:
    """Return the smallest value that is not null, or None if all values are null."""
    return min((value for value in values if value is not None), key=rank, default=None)


def part(values: Sequence[Any] | None, start: int | None = None, stop: int | None = None) -> tuple[Any, ...] | None:
    """Return the items between two indices, which start at 1 and are inclusive. None if there are no such items."""
    if values is None:
        return None
    low, high = (start or 1) - 1 if start != 0 else -1, len(values) if stop is None else stop
    return tuple(values[low:high]) if 0 <= low <= high <= len(values) else None


def union(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct items of both arrays. Raises LimitReached."""
    create_items(len(one) + len(other), "ARRAY_UNION")
    return distinct((*one, *other))


def difference(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct items of the first array that are not in the second."""
    taken = {identity(value) for value in other}
    return distinct([value for value in one if identity(value) not in taken])


def intersection(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct items that are in both arrays."""
    taken = {identity(value) for value in other}
    return distinct([value for value in one if identity(value) in taken])


def concatenation(one: Sequence[Any] | None, other: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the items of both arrays. An array that is null has no items. Raises LimitReached."""
    create_items(len(one or ()) + len(other or ()), "ARRAY_CONCAT")
    return None if one is None and other is None else (*(one or ()), *(other or ()))


def series(start: int, stop: int, step: int | None = None) -> tuple[int, ...]:
    """Return the numbers from `start` to `stop`, both inclusive. Raises ValueError, LimitReached."""
    by = step if step is not None else 1 if stop >= start else -1
    if by == 0 or (stop - start) * by < 0:
        raise ValueError("the step must lead from the start to the end")
    create_items((stop - start) // by + 1, "GENERATE_SERIES")
    return tuple(range(start, stop + (1 if by > 0 else -1), by))


def split_to_map(text: str, entries: str, pairs: str) -> dict[str, str] | None:
    """Return the map from a text with entries and pairs, or None if a delimiter is empty or both are equal."""
    # ksqlDB also returns null in these cases.
    if not entries or not pairs or entries == pairs:
        return None
    parts = (entry.split(pairs, 2) for entry in text.split(entries) if pairs in entry)
    return {part[0]: part[1] for part in parts}


def map_union(one: dict[Any, Any] | None, other: dict[Any, Any] | None) -> dict[Any, Any] | None:
    """Return the entries of both maps. For a key in both maps, the value of the second is used. Raises LimitReached."""
    create_items(len(one or ()) + len(other or ()), "MAP_UNION")
    return None if one is None and other is None else {**(one or {}), **(other or {})}


def as_map(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """Return the map from keys to values."""
    return {key: values[at] if at < len(values) else None for at, key in enumerate(keys)}


@special("ARRAY_JOIN", 1, 2)
def _array_join(make: Binder, call: Call) -> Bound:
    values, *marks = (make.of(argument) for argument in call.arguments)
    kind = values.type.item if isinstance(values.type, ArrayType) else NULL
    if not isinstance(values.type, ArrayType) or isinstance(kind, ArrayType | MapType | StructType):
        raise SqlError(call.place, "write ARRAY_JOIN(an ARRAY of numbers, texts or BOOLEANs[, a text])")
    text = casts.of_nullable(None if kind in (STRING, NULL) else casts.texter(kind))

    def join(items: Sequence[Any] | None, mark: str | None = ",") -> str | None:
        """Return the concatenated texts of the values. If the separator is null, there is none. Raises LimitReached."""
        if items is None:
            return None
        texts = ["null" if item is None else text(item) for item in items]
        create_letters(sum(map(len, texts)) + len(mark or "") * len(texts), "ARRAY_JOIN")
        return (mark or "").join(texts)

    given = [values, *(make.cast(mark, STRING, call) for mark in marks)]
    return make.call(call.name, join, given, STRING, is_limited=True)


def _has(values: Sequence[Any] | None, sought: Any) -> bool:
    return values is not None and any(identity(item) == identity(sought) for item in values)


def _left(values: Sequence[Any] | None, sought: Any) -> tuple[Any, ...] | None:
    return None if values is None else tuple(item for item in values if identity(item) != identity(sought))


def _map_of_items(types: list[SqlType]) -> SqlType:
    if not isinstance(types[1], ArrayType):
        raise TypeError("the values must be an ARRAY")
    return MapType(STRING, types[1].item)


def _entries(types: list[SqlType]) -> SqlType:
    return ArrayType(StructType((("K", STRING), ("V", _map(types).value))))


def _map(types: list[SqlType]) -> MapType:
    kind = types[0]
    if not isinstance(kind, MapType):
        raise TypeError("a NULL is not a MAP: CAST it")
    return kind


def _entry_list(values: dict[str, Any], is_sorted: bool) -> tuple[Any, ...]:
    return tuple(sorted(values.items(), key=lambda entry: entry[0])) if is_sorted else tuple(values.items())


function("ARRAY_LENGTH", "a", INT, len)
function("ARRAY_DISTINCT", "a", first, distinct)
function("ARRAY_EXCEPT", "a a", first, difference)
function("ARRAY_INTERSECT", "a a", first, intersection)
function("ARRAY_CONTAINS", "a *", BOOLEAN, _has, takes_null=True)
function("ARRAY_REMOVE", "a *", first, _left, takes_null=True)
function("ARRAY_UNION", "a a", first, union, is_limited=True, is_alike=True)
function("ARRAY_CONCAT", "a a", first, concatenation, takes_null=True, is_limited=True, is_alike=True)
function("ARRAY_MAX", "a", item_of, largest)
function("ARRAY_MIN", "a", item_of, smallest)
function("ARRAY_SORT", "a s?", first, sort)
function("SLICE", "a i? i?", first, part, takes_null=True)
function("CARDINALITY", "a", INT, len)
function("CARDINALITY", "m", INT, len)
function("ENTRIES", "m b", _entries, _entry_list)
function("GENERATE_SERIES", "i i i?", ArrayType(INT), series, is_limited=True)
function("GENERATE_SERIES", "l l i?", ArrayType(BIGINT), series, is_limited=True)
function("AS_MAP", "as a", _map_of_items, as_map)
function("MAP_KEYS", "m", lambda types: ArrayType(_map(types).key), tuple)
function("MAP_VALUES", "m", lambda types: ArrayType(_map(types).value), lambda values: tuple(values.values()))
function("MAP_UNION", "m m", first, map_union, takes_null=True, is_limited=True, is_alike=True)
function("SPLIT_TO_MAP", "s s s", MapType(STRING, STRING), split_to_map)
