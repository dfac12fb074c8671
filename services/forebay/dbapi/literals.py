"""Converts Python values to SQL literals, which replace the `?` of a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|\?""", re.DOTALL)
"""Texts, quoted names, comments, and `?`. A `?` inside the others is not a parameter."""


_VARIABLE = re.compile(r"\$(?=\{\w*\})")
_LIMIT = re.compile(r"\bLIMIT\s+(\d+|\$\{\w+\})[\s;]*\Z", re.IGNORECASE)
_BIGINT = (1 << 63) - 1
_BITS = 10_000
"""Maximum bits of a whole number, about 3,000 digits. Python converts no more than 4,300 digits."""


class WrongParameter(ValueError):
    """A parameter can't be converted to a literal, or the number of parameters is wrong."""


class OutOfRange(WrongParameter):
    """A parameter is a number that no column can contain."""


def bind(sql: str, parameters: Sequence[Any]) -> str:
    """Return a statement with each `?` replaced by a literal. Raises WrongParameter, OutOfRange."""
    if isinstance(parameters, str | bytes | dict):
        raise WrongParameter("parameters are a list or tuple, with a value for each ? of the statement")
    literals = [literal(value) for value in parameters]
    places = sum(match.group() == "?" for match in _PARTS.finditer(sql))
    if places != len(literals):
        raise WrongParameter(f"the statement has {places} places for parameters (?), but {len(literals)} values")
    if not literals:
        return sql
    rest = iter(literals)
    # Insert a space, so that a negative number after a minus does not begin a comment (--).
    return _PARTS.sub(lambda match: f" {next(rest)}" if match.group() == "?" else match.group(), sql)


def has_limit(sql: str) -> bool:
    """Return whether a statement ends with LIMIT."""
    # Replace quoted parts with a placeholder, because `"limit" 3` is not a LIMIT.
    return bool(_LIMIT.search(_PARTS.sub(lambda match: " " if match.group()[:1] in "-/" else "''", sql)))


def literal(value: Any) -> str:
    """Return a value as a literal. Raises WrongParameter, OutOfRange."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            if value.bit_length() > _BITS:
                raise OutOfRange(f"no column holds a whole number of {value.bit_length()} bits")
            return _number(str(int(value)), int(value))
        case float() if math.isfinite(value):
            # The `repr` of subclasses, such as NumPy's, is not a number.
            digits = float.__repr__(value)
            return digits if "e" in digits else f"{digits}e0"
        case Decimal() if value.is_finite():
            return _number(f"{value:f}", value)
        case str():
            return _text(value)
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return f"'{moment.isoformat(timespec='milliseconds')}'"
        case time() if value.tzinfo is not None:
            raise WrongParameter(f"{value!r} has an offset, which TIME does not hold: take it out, or pass a datetime")
        case date() | time():
            return f"'{value.isoformat()}'"
        case list() | tuple():
            return f"ARRAY[{', '.join(literal(item) for item in value)}]"
    raise WrongParameter(
        f"{value!r} can't be a parameter: take None, bool, int, a finite float or Decimal, str, date, time, datetime, "
        "or a list of them"
    )


def _number(digits: str, value: int | Decimal) -> str:
    """Return a number's literal. A whole number beyond BIGINT gets a decimal point, as SQL requires for DECIMAL."""
    needs_point = "." not in digits and not -_BIGINT - 1 <= value <= _BIGINT
    return f"{digits}.0" if needs_point else digits


def _text(value: str) -> str:
    quoted = "'" + value.replace("'", "''") + "'"
    # The server replaces `${name}` even within quotes, so split the two characters into two texts.
    split = _VARIABLE.sub("$' + '", quoted)
    return quoted if split == quoted else f"({split})"
