"""Limits of the CPU time and memory that an expression may use for one record.

A record that exceeds a limit is sent to `.errors`, and a query returns status 400. The error names the limit. Time is
measured as CPU time of the thread, so that no record fails because the process was paused or the machine was busy.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sized
from typing import Any, TypeVar

EXPRESSION_MS = 500
"""CPU time (ms) that lambdas and regular expressions may use for one record in each step of a query."""
TEXT_LETTERS = 1 << 20
"""Largest number of characters of a text, or of bytes of a BYTES value, that a function may create."""
ARRAY_ITEMS = 100_000
"""Largest number of items of an array or map that a function may create, and of rows that EXPLODE may return."""
CREATED_SIZE = 1 << 25
"""Largest sum of characters, bytes and items that expressions may create for one record in each step of a query."""
LIKE_STEPS = 50_000_000
"""Largest number of comparisons of LIKE: characters of the text times those of a part of the pattern with `_`."""
ROWS_SIZE = 1 << 26
"""Largest sum of characters, bytes and items in all rows that EXPLODE returns for a record."""
WINDOWS_OF_RECORD = 100_000
"""Largest number of hopping windows in which a record may be. A statement with more windows is refused."""
_CALLS_BETWEEN_LOOKS = 16
_FEW_ROWS = 64

Created = TypeVar("Created", bound=Sized | None)


class LimitReached(Exception):
    """An expression exceeds a limit. The message names the limit."""


class _Spent(threading.local):
    """The time and memory that the current record has used so far in this thread."""

    began_ns = 0
    calls = 0
    size = 0


_spent = _Spent()


def begin() -> None:
    """Reset the counters at the start of a record."""
    _spent.began_ns = time.thread_time_ns()
    _spent.calls = 0
    _spent.size = 0


def remaining_seconds() -> float:
    """Return the CPU time (s) that remains for the record. Raises LimitReached if no time remains."""
    left = EXPRESSION_MS / 1000 - (time.thread_time_ns() - _spent.began_ns) / 1e9
    if left <= 0:
        raise out_of_time()
    return left


def out_of_time() -> LimitReached:
    """Return the error for an expression that needs too much CPU time."""
    return LimitReached(
        f"an expression needs more than {EXPRESSION_MS} ms of CPU time for one record (limit EXPRESSION_MS): "
        "simplify the lambda or the regular expression, or filter the record out before it"
    )


def count_call() -> None:
    """Count a call of a lambda. Raises LimitReached if the record has used up its time."""
    _spent.calls += 1
    # Check the time only after several calls. Reading the thread's CPU time is a system call, which takes longer than
    # many lambdas.
    if not _spent.calls % _CALLS_BETWEEN_LOOKS:
        remaining_seconds()


def count_created(value: Created) -> Created:
    """Count the size of a created value, and return the value. Raises LimitReached if the sum is too large."""
    if value is not None:
        _spend(len(value))
    return value


def check_created(values: tuple[Any, ...]) -> None:
    """Count the sizes of texts and arrays in a row. Raises LimitReached if the sum is too large."""
    _spend(sum(map(_size, values)))


def _spend(size: int) -> None:
    _spent.size += size
    if _spent.size > CREATED_SIZE:
        raise LimitReached(
            f"the expressions of one record create more than {CREATED_SIZE} letters and items (limit CREATED_SIZE): "
            "use shorter arrays or texts"
        )


def create_letters(number: int, function: str) -> None:
    """Count a text or BYTES value before it is created. Raises LimitReached if it, or the sum, is too large."""
    check_letters(number, function)
    _spend(number)


def create_items(number: int, function: str) -> None:
    """Count an array or map before it is created. Raises LimitReached if it, or the sum, is too large."""
    check_items(number, function)
    _spend(number)


def check_letters(number: int, function: str) -> None:
    """Check the size of a text or BYTES value before it is created. Raises LimitReached if it is too large."""
    if number > TEXT_LETTERS:
        raise LimitReached(
            f"{function} would create {number} characters or bytes, at most {TEXT_LETTERS} are allowed "
            "(limit TEXT_LETTERS): shorten its arguments"
        )


def check_work(steps: int, function: str) -> None:
    """Raise LimitReached if a search needs too many comparisons."""
    if steps > LIKE_STEPS:
        raise LimitReached(
            f"{function} would compare {steps} characters, at most {LIKE_STEPS} are allowed (limit LIKE_STEPS): "
            "shorten the text or the part of the pattern that has _"
        )


def check_rows(number: int, row: tuple[Any, ...]) -> None:
    """Raise LimitReached if that many copies of a row are too large."""
    check_items(number, "EXPLODE")
    # For a few copies, computing the size of the row would take longer than creating them.
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
    """Check the size of an array or map before it is created. Raises LimitReached if it is too large."""
    if number > ARRAY_ITEMS:
        raise LimitReached(
            f"{function} would create {number} items, at most {ARRAY_ITEMS} are allowed (limit ARRAY_ITEMS): "
            "shorten its arguments"
        )
