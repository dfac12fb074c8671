"""Values of another type than their Avro field: KSML parses texts, and writes numbers as text where text is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from forebay.sql.arithmetic import text_of_double
from forebay.sql.number_texts import any_double_of_text

_WHOLE = re.compile(r"[+-]?\d+")


def whole_of(value: Any) -> Any:
    """Return a whole number: of a text or of a float without a fraction; another value as it is.

    Raises:
        ValueError: the text is no whole number.
    """
    if type(value) is float and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    if not _WHOLE.fullmatch(value):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def float_of(value: Any) -> float:
    """Return a float: of a number, or of a text as Java parses it. Raises TypeError, ValueError: it is none."""
    if isinstance(value, str):
        return any_double_of_text(value)
    if isinstance(value, bool):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def number_or_text(parse: Callable[[str], Any], text: str) -> Any:
    """Return the number that a text is, or the text."""
    try:
        return parse(text)
    except ValueError:
        return text


def boolean_of(value: Any) -> Any:
    """Return a boolean: of the texts true and false, in any case; another value as it is. Raises ValueError."""
    if not isinstance(value, str):
        return value
    boolean = {"true": True, "false": False}.get(value.lower())
    if boolean is None:
        raise ValueError(f"{value!r} is neither true nor false")
    return boolean


def text_of_scalar(value: Any) -> Any:
    """Return the text of a number or boolean; another value as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    return str(value) if isinstance(value, int) else value
