"""Types of literals."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, DecimalType, SqlType


def type_of_literal(value: Any) -> SqlType:
    """Return the type of a literal's value from the parser."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INT if -(1 << 31) <= value < 1 << 31 else BIGINT
        case float():
            return DOUBLE
        case Decimal():
            digits, exponent = len(value.as_tuple().digits), int(value.as_tuple().exponent)
            scale = max(0, -exponent)
            # As in ksqlDB, the zero before the decimal point of a number between -1 and 1 counts as a digit.
            return DecimalType(scale + 1 if abs(value) < 1 else max(digits, scale), scale)
    return STRING
