"""Conversion of values to the types of Avro fields: KSML parses texts, and converts numbers to text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from forebay.sql.arithmetic import text_of_double
from forebay.sql.number_texts import any_double_of_text

_WHOLE = re.compile(r"[+-]?\d+")


def whole_of(value: Any) -> Any:
    """Return the whole number of a text or of a float without a fraction. Return other values unchanged.

    Raises:
        ValueError: the text is not a whole number.
    """
    if type(value) is float and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    if not _WHOLE.fullmatch(value):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def float_of(value: Any) -> float:
    """Return the float of a number, or of a text as Java parses it. Raises TypeError, ValueError."""
    if isinstance(value, str):
        return any_double_of_text(value)
    if isinstance(value, bool):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def number_or_text(parse: Callable[[str], Any], text: str) -> Any:
    """Return the number of a text, or the text if it is not a number."""
    try:
        return parse(text)
    except ValueError:
        return text


def boolean_of(value: Any) -> Any:
    """Return the boolean of a text (true, false in any case). Return other values unchanged. Raises ValueError."""
    if not isinstance(value, str):
        return value
    boolean = {"true": True, "false": False}.get(value.lower())
    if boolean is None:
        raise ValueError(f"{value!r} is neither true nor false")
    return boolean


def text_of_scalar(value: Any) -> Any:
    """Return the text of a number or boolean. Return other values unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    return str(value) if isinstance(value, int) else value
