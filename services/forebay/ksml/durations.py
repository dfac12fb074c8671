"""Durations: a number with a unit, or a number of milliseconds."""

from __future__ import annotations

import re

from forebay.ksml.document import Node

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "": 1}
_DURATION = re.compile(r"\s*(\d+)\s*(ms|s|m|h|d|w|)\s*", re.IGNORECASE)


def milliseconds(node: Node) -> int:
    """Return a duration in ms. Raises KsmlError."""
    match = None if node.is_object or node.is_list else _DURATION.fullmatch(node.text)
    if match is None:
        raise node.refuse(f"{node.text!r} is not a duration: write a number and one of ms s m h d w, such as 5m")
    return int(match[1]) * _UNITS[match[2].lower()]


def duration(node: Node, key: str, default: int | None = None) -> int | None:
    """Return the duration under a key, in ms. Raises KsmlError."""
    child = node.get(key)
    return default if child is None else milliseconds(child)
