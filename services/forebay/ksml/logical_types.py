"""Logical types of Avro that limit values, which KSML 2.0 checks before it writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_DAY_MS = 86_400_000
_LONGEST_UUID = 36
_UUID = re.compile(r"[0-9a-f]+(-[0-9a-f]+){4}", re.IGNORECASE)


def _check_uuid(value: Any) -> None:
    """Raise ValueError for a text that Java's UUID does not parse."""
    if isinstance(value, str) and (len(value) > _LONGEST_UUID or not _UUID.fullmatch(value)):
        raise ValueError(f"{value!r} is not a UUID: write one such as 123e4567-e89b-12d3-a456-426614174000")


def _range_check(name: str, most: int) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if isinstance(value, int) and not 0 <= value <= most:
            raise ValueError(f"{value} is not a valid {name}: write 0 to {most}")

    return check


CHECKS: dict[tuple[str, str], Callable[[Any], None]] = {
    ("string", "uuid"): _check_uuid,
    ("int", "time-millis"): _range_check("time-millis", _DAY_MS - 1),
    ("long", "time-micros"): _range_check("time-micros", _DAY_MS * 1_000 - 1),
}
"""Checks by primitive type and logical type. A logical type of another primitive type is ignored."""


def with_check(inward: Callable[[Any], Any], name: str, logical: str) -> Callable[[Any], Any]:
    """Return a conversion that checks its results, and raises ValueError."""
    check = CHECKS[name, logical]

    def convert(value: Any) -> Any:
        result = inward(value)
        check(result)
        return result

    return convert
