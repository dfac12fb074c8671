"""Values of Python as literals of SQL, in place of the `?` of a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|\?""", re.DOTALL)
"""Texts, quoted names, comments, and the places of parameters: a `?` inside of the others is none."""


class WrongParameter(ValueError):
    """A parameter can't be written as a literal, or their number differs; the message says what to do."""


def bind(sql: str, parameters: Sequence[Any]) -> str:
    """Return a statement with a literal in place of each `?`. Raises WrongParameter."""
    if isinstance(parameters, str | bytes | dict):
        raise WrongParameter("parameters are a list or tuple, with a value for each ? of the statement")
    literals = [literal(value) for value in parameters]
    places = sum(match.group() == "?" for match in _PARTS.finditer(sql))
    if places != len(literals):
        raise WrongParameter(f"the statement has {places} places for parameters (?), and {len(literals)} are given")
    if not literals:
        return sql
    rest = iter(literals)
    # With a space before it, a negative number after a minus begins no comment (--).
    return _PARTS.sub(lambda match: f" {next(rest)}" if match.group() == "?" else match.group(), sql)


def literal(value: Any) -> str:
    """Return a value as a literal. Raises WrongParameter."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(int(value))
        case float() if math.isfinite(value):
            return f"{value!r}e0" if "e" not in repr(value) else repr(value)
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return f"'{moment.isoformat(timespec='milliseconds')}'"
        case date() | time():
            return f"'{value.isoformat()}'"
        case list() | tuple():
            return f"ARRAY[{', '.join(literal(item) for item in value)}]"
    raise WrongParameter(
        f"{value!r} can't be a parameter: take None, bool, int, a finite float or Decimal, str, date, time, datetime, "
        "or a list of them"
    )
