"""Folds, the functions that combine records into an aggregate."""

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
    """The functions that compute an aggregate.

    Args:
        initial: Function that returns the aggregate of no records.
        add: Function of key, value and aggregate that returns the aggregate with the record. If it returns None, the
            row is deleted.
        subtract: Function of key, value and aggregate that returns the aggregate without the row. Aggregates of tables
            need it.
        merge: Function of key and two aggregates, in order of time, that returns the aggregate of both. Sessions need
            it. It is first called with the initial aggregate and the aggregate of the earliest session.
    """

    initial: Callable[[], A]
    add: Callable[[Any, V, A], A]
    subtract: Callable[[Any, V, A], A] | None = None
    merge: Callable[[Any, A, A], A] | None = None


def counting(record: type[A]) -> Fold[Any, A]:
    """Return a fold that counts records.

    Args:
        record: Record type of the aggregates. It has one field, an int.

    Raises:
        TypeError: The record type has other fields.
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
    """Return a fold that combines values of one type. The first value is the first aggregate.

    Args:
        reducer: Function of the aggregate and the next value.
        remover: Function of the aggregate and a value that leaves it. Aggregates of tables need it.
    """

    def merge(_key: str, one: V | None, two: V) -> V:
        return two if one is None else reducer(one, two)

    return Fold(
        lambda: cast(V, None),
        lambda key, value, total: merge(key, total, value),
        None if remover is None else lambda _key, value, total: remover(total, value),
        merge,
    )
