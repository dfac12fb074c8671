"""Row texts of numbers, which sort like the numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import cast


def whole_rows(bits: int) -> tuple[Callable[[int], str], Callable[[str], int]]:
    """Return the functions from a whole number of `bits` bits to its row text and back."""
    # The offset makes negative numbers sort first.
    offset, digits = 1 << (bits - 1), bits // 4
    return lambda value: f"{value + offset:0{digits}x}", lambda text: int(text, 16) - offset


def double_row(value: float) -> str:
    """Return the row text of a floating-point number."""
    (number,) = struct.unpack(">Q", struct.pack(">d", value if value == value else math.nan))  # noqa: PLR0124
    # The bits of positive numbers sort like the numbers, those of negative numbers in reverse order.
    return f"{number ^ (0xFFFFFFFFFFFFFFFF if number >> 63 else 1 << 63):016x}"


def of_double_row(text: str) -> float:
    """Return the number of a row text."""
    number = int(text, 16)
    number ^= 1 << 63 if number >> 63 else 0xFFFFFFFFFFFFFFFF
    return cast(float, struct.unpack(">d", struct.pack(">Q", number))[0])
