"""Names of topics, and of what topics are named after."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from zlib import crc32

_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST = 249
# Leaves 49 of the 249 letters for the application id and `-changelog`.
LONGEST_STORE = 200
"""Letters that a store's name may have."""
LONGEST_REPARTITION = _LONGEST - len("a-") - len("-repartition")
"""Letters that a repartition's name may have in a job whose name has one letter."""
_CUT = 150


class IllegalName(ValueError):
    """A name that Kafka does not take; says which would do."""


def check_name(name: str) -> None:
    """Refuse the name of a topic, or of what topics are named after, that Kafka does not take.

    Raises:
        IllegalName: it is none (Kafka's org.apache.kafka.common.internals.Topic).
    """
    if _LEGAL.fullmatch(name) and len(name) <= _LONGEST and name not in (".", ".."):
        return
    near = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:_LONGEST].strip("._-") or "my_topic"
    raise IllegalName(
        f"{name!r:.300} is not a name that Kafka takes for a topic: letters of ASCII, digits, '.', '_' and '-', "
        "at most "
        f"{_LONGEST}: write {near!r:.300}"
    )


def unused_name(name: str, used: Container[str], longest: int) -> str:
    """Return a generated name, with a number if it is in use.

    A name of more than `longest` letters is cut, and ends with its checksum. A shorter one must never be cut: a job of
    an earlier release has topics of that name.
    """
    number, candidate = 1, name
    while True:
        if len(candidate) > longest:
            candidate = f"{candidate[: _CUT - 9]}-{crc32(candidate.encode()):08x}"
        if candidate not in used:
            return candidate
        number += 1
        candidate = f"{name}-{number}"


def check_pattern(pattern: str) -> None:
    """Refuse a pattern of topics that rights can't be given for. Raises ValueError, IllegalName."""
    start = literal_start(pattern)
    if not start:
        raise ValueError(
            f"the pattern {pattern!r} needs a prefix that all its topics share, because rights are granted by prefix: "
            "begin it with letters, as in re.compile(r'orders-.*')"
        )
    check_name(start)


def literal_start(pattern: str) -> str:
    """Return what all names that match a pattern begin with."""
    # The alternatives of a pattern need not share a prefix.
    if "|" in pattern:
        return ""
    match = re.match(r"(?:[A-Za-z0-9_-]|\\[.-])*", pattern)
    assert match is not None
    start = match.group()
    # A letter that is repeated or optional is not part of the prefix.
    if pattern[len(start) : len(start) + 1] in ("*", "?", "{"):
        start = start[:-2] if start[-2:-1] == "\\" else start[:-1]
    return start.replace("\\", "")


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that match a pattern as a whole, in order."""
    wanted = re.compile(pattern)
    return tuple(sorted(name for name in names if wanted.fullmatch(name)))
