"""Limits of what an expression may cost for one record: time, sizes of texts and arrays, what lambdas create.

A record that exceeds a limit goes to `.errors`, a query is answered 400; both name the limit. Time is the thread's CPU
time, so that a paused process or a busy machine refuses nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sized
from typing import Any, TypeVar

EXPRESSION_MS = 500
"""CPU time that lambdas and regular expressions of one record may take, in each step of a query."""
TEXT_LETTERS = 1 << 20
"""Letters of a text, or bytes of a BYTES value, that a function may create."""
ARRAY_ITEMS = 100_000
"""Items of an array or map that a function may create; rows that EXPLODE may make of a record."""
CREATED_SIZE = 1 << 25
"""Letters, bytes and items that the expressions of one record may create, in each step of a query."""
LIKE_STEPS = 50_000_000
"""Letters of a text times letters of a pattern's part with `_` that LIKE may compare."""
ROWS_SIZE = 1 << 26
"""Letters, bytes and items of all the rows that EXPLODE makes of a record."""
_CALLS_BETWEEN_LOOKS = 16
_FEW_ROWS = 64

Created = TypeVar("Created", bound=Sized | None)


class LimitReached(Exception):
    """An expression exceeds a limit; the message names it."""


class _Spent(threading.local):
    """What the current record has cost so far in this thread."""

    began_ns = 0
    calls = 0
    size = 0


_spent = _Spent()


def begin() -> None:
    """Begin to count for a record."""
    _spent.began_ns = time.thread_time_ns()
    _spent.calls = 0
    _spent.size = 0


def remaining_seconds() -> float:
    """Return how much CPU time the record has left. Raises LimitReached: none."""
    left = EXPRESSION_MS / 1000 - (time.thread_time_ns() - _spent.began_ns) / 1e9
    if left <= 0:
        raise out_of_time()
    return left


def out_of_time() -> LimitReached:
    """Return the error of an expression that takes too long."""
    return LimitReached(
        f"an expression needs more than {EXPRESSION_MS} ms of CPU time for one record (limit EXPRESSION_MS): "
        "simplify the lambda or the regular expression, or filter the record out before it"
    )


def count_call() -> None:
    """Count a call of a lambda. Raises LimitReached if the record has used up its time."""
    _spent.calls += 1
    # Reading the thread's CPU time costs a system call, more than many lambdas.
    if not _spent.calls % _CALLS_BETWEEN_LOOKS:
        remaining_seconds()


def count_created(value: Created) -> Created:
    """Count what a lambda created, and return it. Raises LimitReached if the record has created too much."""
    if value is not None:
        _spend(len(value))
    return value


def check_created(values: tuple[Any, ...]) -> None:
    """Count the texts and arrays among the columns of a wide row. Raises LimitReached if they are too large."""
    _spend(sum(map(_size, values)))


def _spend(size: int) -> None:
    _spent.size += size
    if _spent.size > CREATED_SIZE:
        raise LimitReached(
            f"the expressions of one record create more than {CREATED_SIZE} letters and items (limit CREATED_SIZE): "
            "use shorter arrays or texts"
        )


def create_letters(number: int, function: str) -> None:
    """Count a text or BYTES value before it is created. Raises LimitReached if it is too long, or all are."""
    check_letters(number, function)
    _spend(number)


def create_items(number: int, function: str) -> None:
    """Count an array or map before it is created. Raises LimitReached if it is too long, or all are."""
    check_items(number, function)
    _spend(number)


def check_letters(number: int, function: str) -> None:
    """Refuse a text or BYTES value before it is created. Raises LimitReached if it is too long."""
    if number > TEXT_LETTERS:
        raise LimitReached(
            f"{function} would create {number} characters or bytes, at most {TEXT_LETTERS} are allowed "
            "(limit TEXT_LETTERS): shorten its arguments"
        )


def check_work(steps: int, function: str) -> None:
    """Refuse a search that would compare too many letters. Raises LimitReached."""
    if steps > LIKE_STEPS:
        raise LimitReached(
            f"{function} would compare {steps} characters, at most {LIKE_STEPS} are allowed (limit LIKE_STEPS): "
            "shorten the text or the part of the pattern that has _"
        )


def check_rows(number: int, row: tuple[Any, ...]) -> None:
    """Refuse to make so many copies of a row. Raises LimitReached."""
    check_items(number, "EXPLODE")
    # For few rows, walking through the row would cost more than making them.
    size = number * _size(row) if number >= _FEW_ROWS else 0
    if size > ROWS_SIZE:
        raise LimitReached(
            f"EXPLODE would make {number} rows of {size} letters and items, the most is {ROWS_SIZE} (limit ROWS_SIZE): "
            "select fewer columns with it"
        )


def _size(value: Any) -> int:
    match value:
        case str() | bytes():
            return len(value)
        case tuple():
            return len(value) + sum(map(_size, value))
        case dict():
            return len(value) + sum(_size(key) + _size(part) for key, part in value.items())
    return 0


def check_items(number: int, function: str) -> None:
    """Refuse an array or map before it is created. Raises LimitReached if it is too long."""
    if number > ARRAY_ITEMS:
        raise LimitReached(
            f"{function} would create {number} items, at most {ARRAY_ITEMS} are allowed (limit ARRAY_ITEMS): "
            "shorten its arguments"
        )
