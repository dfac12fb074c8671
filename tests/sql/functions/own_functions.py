"""Functions that a user wrote for SQL, of every kind and type."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from forebay.sql.extension import aggregate_function, scalar_function, table_function


@dataclass(frozen=True)
class Name:
    first: str
    last: str | None


class Range(NamedTuple):
    low: float
    high: float


@scalar_function
def initials(name: str, separator: str = "") -> str:
    """Return the first letters of the words of a name.

    A separator may stand between them.
    """
    return separator.join(word[0] for word in name.split())


@scalar_function(name="either")
def first_of_two(one: int | None, other: int | None) -> int | None:
    return one if one is not None else other


@scalar_function
def joined_all(*texts: str) -> str:
    return "+".join(texts)


@scalar_function
def swap(name: Name) -> Name:
    assert name.last is not None
    return Name(name.last, name.first)


@scalar_function
def range_of(numbers: list[float]) -> Range:
    numbers.sort()
    return Range(numbers[0], numbers[-1])


@scalar_function
def count_letters(text: str) -> dict[str, Annotated[int, "INT"]]:
    return {letter: text.count(letter) for letter in text}


@scalar_function
def next_day(day: datetime.date, at: datetime.time, time: datetime.datetime) -> Annotated[Any, "ARRAY<BIGINT>"]:
    return [day.toordinal(), at.hour, time.year]


@scalar_function
def tomorrow(day: datetime.date) -> datetime.date:
    return day + datetime.timedelta(days=1)


@scalar_function
def noon(_: int) -> datetime.time:
    return datetime.time(12)


@scalar_function
def new_year(year: int) -> datetime.datetime:
    return datetime.datetime(year, 1, 1, tzinfo=datetime.UTC)


@scalar_function
def double_price(price: Decimal) -> Annotated[Decimal, "DECIMAL(10, 2)"]:
    return price * 2


@scalar_function
def wrong_result(kind: str) -> int:
    results: dict[str, Any] = {"text": "x", "large": 2**63, "bool": True, "float": 1.5, "none": None}
    return results[kind]  # type: ignore[no-any-return]


@scalar_function
def reversed_bytes(data: bytes) -> bytes:
    return data[::-1]


@scalar_function
def type_name(value: Any) -> str:
    return type(value).__name__


@scalar_function
def fields_of(place: Annotated[dict[str, Any], "STRUCT<x INT, y ARRAY<STRING>>"]) -> list[str]:
    return [f"{name}={value}" for name, value in place.items()]


@table_function
def words(text: str) -> Iterator[str]:
    """Yield the words of a text."""
    yield from text.split()


@table_function
def numbers_to(last: int) -> list[int]:
    return list(range(last))


@aggregate_function
class Product:
    """Multiply the numbers of a group."""

    def initialize(self) -> float:
        return 1.0

    def aggregate(self, state: float, value: float) -> float:
        return state * value

    def merge(self, one: float, other: float) -> float:
        return one * other

    def undo(self, state: float, value: float) -> float:
        return state / value


@dataclass
class Counts:
    texts: dict[str, int]
    nulls: int


@aggregate_function(name="MOST_COMMON")
class MostCommon:
    """Return the most common texts."""

    def __init__(self, number: int = 1) -> None:
        self._number = number

    def initialize(self) -> Counts:
        return Counts({}, 0)

    def aggregate(self, state: Counts, text: str | None) -> Counts:
        if text is None:
            state.nulls += 1
        elif text == "fail":
            raise ValueError("no such text")
        else:
            state.texts[text] = state.texts.get(text, 0) + 1
        return state

    def merge(self, one: Counts, other: Counts) -> Counts:
        for text, number in other.texts.items():
            one.texts[text] = one.texts.get(text, 0) + number
        return Counts(one.texts, one.nulls + other.nulls)

    def map(self, state: Counts) -> list[str]:
        if state.nulls > 1:
            raise ValueError("too many nulls")
        return sorted(state.texts, key=lambda text: (-state.texts[text], text))[: self._number]
