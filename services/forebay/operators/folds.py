"""Folds: how records become an aggregate. Any aggregate operator takes one, part by part."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from forebay.records import is_record_type

V = TypeVar("V")
A = TypeVar("A")


# Without slots: Python 3.11 can't call Fold[str, int](...) of a frozen class that has them.
@dataclass(frozen=True)
class Fold(Generic[V, A]):
    """An aggregate's parts.

    Args:
        initial: the aggregate of no records.
        add: gives the aggregate with one more record; called with key, value, aggregate. None deletes the row.
        subtract: gives it with one less (aggregates of tables).
        merge: gives the aggregate of two (sessions); called with key, and both in order of time: first with the
            initial aggregate and that of the earliest session.
    """

    initial: Callable[[], A]
    add: Callable[[Any, V, A], A]
    subtract: Callable[[Any, V, A], A] | None = None
    merge: Callable[[Any, A, A], A] | None = None


def counting(record: type[A]) -> Fold[Any, A]:
    """Return the fold that counts records in `record`, a record with one field, an int.

    Raises:
        TypeError: it is another kind of record.
    """
    hints = typing.get_type_hints(record) if is_record_type(record) else {}
    if list(hints.values()) != [int]:
        raise TypeError(f"{record.__name__} can't hold a count: give a record with one field, an int")
    name, make = next(iter(hints)), cast(Callable[[int], A], record)

    def number(aggregate: A) -> int:
        return int(getattr(aggregate, name))

    return Fold(
        lambda: make(0),
        lambda _key, _value, total: make(number(total) + 1),
        lambda _key, _value, total: make(number(total) - 1),
        lambda _key, one, two: make(number(one) + number(two)),
    )


def reducing(reducer: Callable[[V, V], V], remover: Callable[[V, V], V] | None = None) -> Fold[V, V]:
    """Return the fold that combines values of one type; the first value is the aggregate of itself.

    Args:
        reducer: called with the aggregate so far and the next value.
        remover: called with the aggregate and a value that leaves it (tables).
    """

    def merge(_key: str, one: V | None, two: V) -> V:
        return two if one is None else reducer(one, two)

    return Fold(
        lambda: cast(V, None),
        lambda key, value, total: merge(key, total, value),
        None if remover is None else lambda _key, value, total: remover(total, value),
        merge,
    )
