"""Parsing of numbers as in Java, with a check of their size before all digits are expanded."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from forebay.sql.arithmetic import within_bits

_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_DOUBLE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,10})?)[dDfF]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]{1,10})[dDfF]?")
_NO_NUMBER = re.compile(r"[+-]?(?:NaN|Infinity)")
_MOST_LETTERS = 4_000
_BLANKS = "".join(map(chr, range(0x21)))


def trim(text: str) -> str:
    """Return a text without whitespace and control characters around it, as Java's `String.trim`."""
    return text.strip(_BLANKS)


def whole_of(text: str, bits: int) -> int:
    """Return the whole number in a text. Raises ValueError if it is invalid or does not fit the number of bits."""
    if len(text) > _MOST_LETTERS or not _WHOLE.fullmatch(text):
        raise ValueError(f"{text[:50]!r} is not a whole number")
    return within_bits(int(text), bits)


def decimal_of_text(text: str) -> Decimal:
    """Return the exact number in a text. Raises ValueError for other texts, including NaN and infinity."""
    if len(text) > _MOST_LETTERS or not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:50]!r} is not a number")
    return Decimal(text)


def any_double_of_text(text: str) -> float:
    """Return the double in a text, as `Double.parseDouble`. A number out of range is infinite. Raises ValueError."""
    # `Double.parseDouble` ignores blanks around a number; `Long.parseLong` and `BigDecimal` refuse them.
    plain = trim(text)
    decimal, hexadecimal = _DOUBLE.fullmatch(plain), _HEXADECIMAL.fullmatch(plain)
    if _NO_NUMBER.fullmatch(plain):
        return float(plain)
    if len(plain) > _MOST_LETTERS or not (decimal or hexadecimal):
        raise ValueError(f"{text[:50]!r} is not a number")
    try:
        return float(decimal[1]) if decimal else float.fromhex(hexadecimal[1])  # type: ignore[index]
    except OverflowError:
        return -math.inf if plain.startswith("-") else math.inf


def double_of_text(text: str) -> float:
    """Return the double in a text. Raises ValueError for other texts, NaN, and numbers out of range."""
    result = any_double_of_text(text)
    if not math.isfinite(result):
        raise ValueError(f"{text[:50]!r} is beyond what a double holds")
    return result


def whole_part(value: Decimal | float, bits: int) -> int:
    """Return a number rounded towards zero. Raises ValueError if it does not fit the number of bits."""
    if isinstance(value, Decimal) and value and (not value.is_finite() or value.adjusted() > bits):
        raise ValueError(f"a whole number of {bits} bits can't hold it")
    return within_bits(int(value), bits)
