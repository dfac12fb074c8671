"""Aggregates whose state contains values: first and last values, lists, sets, largest values, and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.aggregates.registry import Aggregate, Argument, aggregate, literal, same
from forebay.sql.functions.collections import distinct, identity
from forebay.sql.order import rank
from forebay.sql.types import BIGINT, BOOLEAN, STRING, ArrayType, MapType, SqlType, StructType, is_number
from forebay.sql.values import hint_of, many, tuple_of

LIMIT = 1000
"""Largest number of keys of HISTOGRAM."""


def _at_offset(arguments: Sequence[Argument], name: str, *, latest: bool) -> Aggregate:
    """Return the aggregate of the first or last values in the order of arrival."""
    usage = f"write {name}(column[, how many][, whether nulls are left out])"
    rest = list(arguments[1:])
    if not arguments or len(rest) > 2 or not all(argument.is_literal for argument in rest):
        raise TypeError(usage)
    skips, number = True, None
    for argument in rest:
        if type(argument.literal) is bool:
            skips = argument.literal
        elif type(argument.literal) is int and number is None and argument.literal > 0:
            number = argument.literal
        else:
            raise TypeError(usage)
    kind = arguments[0].type
    size = number or 1

    def add(kept: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
        if x is None and skips:
            return kept
        return (*kept, x)[-size:] if latest else (*kept, x)[:size]

    def merge(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*one, *other)[-size:] if latest else (*one, *other)[:size]

    hint = many(hint_of(kind))
    if number is None:
        return Aggregate(kind, hint, (), add, lambda kept: kept[0] if kept else None, merge)
    return Aggregate(ArrayType(kind), hint, (), add, same, merge)


@aggregate("LATEST_BY_OFFSET")
def latest(arguments: Sequence[Argument]) -> Aggregate:
    """Return LATEST_BY_OFFSET, the last value or the last few values in the order of arrival."""
    return _at_offset(arguments, "LATEST_BY_OFFSET", latest=True)


@aggregate("EARLIEST_BY_OFFSET")
def earliest(arguments: Sequence[Argument]) -> Aggregate:
    """Return EARLIEST_BY_OFFSET, the first value or the first few values in the order of arrival."""
    return _at_offset(arguments, "EARLIEST_BY_OFFSET", latest=False)


@aggregate("COLLECT_LIST")
def collect_list(arguments: Sequence[Argument]) -> Aggregate:
    """Return COLLECT_LIST, the array of all values including nulls."""
    kind = _one(arguments, "COLLECT_LIST")
    return Aggregate(
        ArrayType(kind),
        many(hint_of(kind)),
        (),
        lambda kept, x: (*kept, x),
        same,
        lambda one, other: (*one, *other),
        _without_last,
    )


def _without_last(kept: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
    # ksqlDB removes the last equal value, as `List.lastIndexOf` finds it.
    for at in range(len(kept) - 1, -1, -1):
        if identity(kept[at]) == identity(x):
            return (*kept[:at], *kept[at + 1 :])
    return kept


@aggregate("COLLECT_SET")
def collect_set(arguments: Sequence[Argument]) -> Aggregate:
    """Return COLLECT_SET, the array of the distinct values including null."""
    kind = _one(arguments, "COLLECT_SET")
    return Aggregate(
        ArrayType(kind),
        many(hint_of(kind)),
        (),
        _with_value,
        same,
        lambda one, other: distinct((*one, *other)),
    )


def _with_value(kept: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    # A linear search takes a tenth of the time of distinct(), which hashes all values. It compares like Python, so it
    # can't be used for doubles.
    is_simple = isinstance(value, int | str | bytes)
    known = value in kept if is_simple else identity(value) in map(identity, kept)
    return kept if known else (*kept, value)


def _one(arguments: Sequence[Argument], name: str) -> SqlType:
    if len(arguments) != 1:
        raise TypeError(f"write {name}(a value)")
    return arguments[0].type


@aggregate("COUNT_DISTINCT")
def count_distinct(arguments: Sequence[Argument]) -> Aggregate:
    """Return COUNT_DISTINCT, the exact number of distinct values. The state contains all of them."""
    kind = _one(arguments, "COUNT_DISTINCT")
    return Aggregate(
        BIGINT,
        many(hint_of(kind)),
        (),
        lambda kept, x: kept if x is None else _with_value(kept, x),
        len,
        lambda one, other: distinct((*one, *other)),
    )


@aggregate("HISTOGRAM")
def histogram(arguments: Sequence[Argument]) -> Aggregate:
    """Return HISTOGRAM, the number of occurrences of up to 1,000 texts. Nulls are counted as the text `null`."""
    if _one(arguments, "HISTOGRAM") != STRING:
        raise TypeError("write HISTOGRAM(a text): CAST the value to STRING")

    def add(kept: dict[str, int], x: str | None, by: int = 1) -> dict[str, int]:
        # ksqlDB ignores new keys once 1,000 are counted. It does not evict old ones.
        text = "null" if x is None else x
        if text not in kept and len(kept) >= LIMIT:
            return kept
        changed = {**kept, text: kept.get(text, 0) + by}
        return {key: n for key, n in changed.items() if n > 0}

    def merge(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        results = dict(one)
        for text, n in other.items():
            results = add(results, text, n)
        return results

    return Aggregate(MapType(STRING, BIGINT), dict[str, int], {}, add, same, merge, lambda kept, x: add(kept, x, -1))


def _largest(arguments: Sequence[Argument], name: str, *, once: bool) -> Aggregate:
    *columns, _ = arguments
    number = literal(arguments, len(columns), int, "how many, a whole number")
    kind = columns[0].type if columns else BOOLEAN
    if number < 1 or not (is_number(kind) or kind == STRING or str(kind) in ("DATE", "TIME", "TIMESTAMP", "BYTES")):
        raise TypeError(f"write {name}(a number, text, date or time[, more columns], how many)")
    hints = [hint_of(column.type) for column in columns]
    row = tuple_of(hints)

    def shape(kept: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        results = sorted(kept, key=lambda entry: rank(entry[0]), reverse=True)
        if once:
            results = list({identity(entry[0]): entry for entry in reversed(results)}.values())[::-1]
            results.sort(key=lambda entry: rank(entry[0]), reverse=True)
        return tuple(results[:number])

    def add(kept: tuple[Any, ...], *x: Any) -> tuple[Any, ...]:
        return kept if x[0] is None else shape([*kept, x])

    def merge(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        return shape([*one, *other])

    if len(columns) == 1:
        result: Callable[[Any], Any] = lambda kept: tuple(entry[0] for entry in kept)  # noqa: E731
        return Aggregate(ArrayType(kind), many(row), (), add, result, merge)
    others = tuple((f"col{at}", item.type) for at, item in enumerate(columns[1:]))
    entry = StructType((("sort_col", kind), *others))
    return Aggregate(ArrayType(entry), many(row), (), add, same, merge, columns=len(columns))


@aggregate("TOPK")
def topk(arguments: Sequence[Argument]) -> Aggregate:
    """Return TOPK, the largest values including duplicates."""
    return _largest(arguments, "TOPK", once=False)


@aggregate("TOPKDISTINCT")
def topk_distinct(arguments: Sequence[Argument]) -> Aggregate:
    """Return TOPKDISTINCT, the largest distinct values."""
    return _largest(arguments, "TOPKDISTINCT", once=True)


@aggregate("ATTR")
def attribute(arguments: Sequence[Argument]) -> Aggregate:
    """Return ATTR, the value that all rows have, or null if they differ."""
    kind = _one(arguments, "ATTR")

    def change(kept: tuple[Any, ...], x: Any, by: int) -> tuple[Any, ...]:
        results = {identity(value): (value, n) for value, n in kept}
        value, n = results.get(identity(x), (x, 0))
        results[identity(x)] = (value, n + by)
        return tuple(entry for entry in results.values() if entry[1])

    def merge(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        for value, n in other:
            one = change(one, value, n)
        return one

    return Aggregate(
        kind,
        many(tuple_of([hint_of(kind), int])),
        (),
        lambda kept, x: change(kept, x, 1),
        lambda kept: kept[0][0] if len(kept) == 1 else None,
        merge,
        lambda kept, x: change(kept, x, -1),
    )
