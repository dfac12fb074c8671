"""Conversion of a URL's parameters to bounds, limits and offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from forebay.queries.reads import Bounds, WrongQuery
from forebay.queries.stores import Reached
from forebay.time.moments import ms_of_moment

LIMIT = 100
MOST = 10_000
WAIT_MS = 5_000
LONGEST_WAIT_MS = 60_000

_KEYS = {"from": "key_from", "to": "key_to", "after": "after", "prefix": "prefix"}
_TIMES = {"since": "time_from", "until": "time_to", "as_of": "as_of"}
_DIGITS = 19
"""Maximum digits of a number, which is that of Kafka's offsets."""
_REACHED = re.compile(rf"(?P<topic>.+)-(?P<partition>[0-9]{{1,{_DIGITS}}}):(?P<offset>[0-9]{{1,{_DIGITS}}})")
_TIME_LIMIT = 1 << 62

Parameters = Mapping[str, list[str]]


def check_names(parameters: Parameters, allowed: Iterable[str]) -> None:
    """Raise WrongQuery for unknown parameters."""
    unknown = sorted(set(parameters) - set(allowed))
    if unknown:
        raise WrongQuery(f"there is no parameter {', '.join(unknown)}: choose from {', '.join(allowed)}")


READ = (*_KEYS, *_TIMES, "order", "limit", "at_least", "wait_ms", "partial")
"""Parameters of a pull query."""
FOLLOW = ("begin", "partial")
"""Parameters of a push query."""


def bounds_of(parameters: Parameters) -> Bounds:
    """Return the bounds that the parameters specify. Raises WrongQuery."""
    given: dict[str, Any] = {field: _one(parameters, name) for name, field in _KEYS.items() if name in parameters}
    given |= {field: _time(parameters, name) for name, field in _TIMES.items() if name in parameters}
    return Bounds(**given, descending=choice(parameters, "order", ("asc", "desc")) == "desc")


def choice(parameters: Parameters, name: str, values: tuple[str, ...]) -> str:
    """Return a parameter that must be one of `values`, of which the first is the default. Raises WrongQuery."""
    value = _one(parameters, name) if name in parameters else values[0]
    if value not in values:
        raise WrongQuery(f"{name}={value}: choose from {', '.join(values)}")
    return value


def number(parameters: Parameters, name: str, default: int, least: int, most: int) -> int:
    """Return a parameter that must be a number from `least` to `most`. Raises WrongQuery."""
    if name not in parameters:
        return default
    text = _one(parameters, name)
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    if not is_number or not least <= int(text) <= most:
        raise WrongQuery(f"{name}={text}: specify a number from {least} to {most}")
    return int(text)


def read_reached(parameters: Parameters) -> list[Reached]:
    """Return the offsets that a read must contain. Raises WrongQuery."""
    positions = []
    for text in parameters.get("at_least", ()):
        match = _REACHED.fullmatch(text)
        if match is None:
            raise WrongQuery(f"at_least={text}: specify topic-partition:offset, such as user_activity-2:1041")
        positions.append(Reached(match["topic"], int(match["partition"]), int(match["offset"])))
    return positions


def _time(parameters: Parameters, name: str) -> int:
    text = _one(parameters, name)
    try:
        if text.lstrip("-").isdecimal():
            milliseconds = int(text)
        else:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                raise ValueError
            milliseconds = ms_of_moment(moment)
        if abs(milliseconds) > _TIME_LIMIT:
            raise ValueError
        return milliseconds
    except (ValueError, OverflowError):
        raise WrongQuery(
            f"{name}={text}: specify ms since the epoch (1735689600000), or a date and time with its zone "
            "(2025-01-01T00:00:00Z)"
        ) from None


def _one(parameters: Parameters, name: str) -> str:
    values = parameters[name]
    if len(values) != 1:
        raise WrongQuery(f"{name} occurs {len(values)} times, but only once is allowed")
    return values[0]
