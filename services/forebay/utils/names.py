"""Names of topics, and of services, stores and repartitions, which are parts of them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from zlib import crc32

_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST = 249
# This leaves 49 of the 249 characters for the application id and `-changelog`.
LONGEST_STORE = 200
"""Maximum length of a store's name."""
LONGEST_REPARTITION = _LONGEST - len("a-") - len("-repartition")
"""Maximum length of a repartition's name in a job whose name has one character."""
_CUT = 150


class IllegalName(ValueError):
    """Kafka does not allow the name. The message suggests another one."""


def check_name(name: str) -> None:
    """Check that Kafka allows a name as that of a topic (org.apache.kafka.common.internals.Topic).

    Raises:
        IllegalName: Kafka does not allow it.
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

    A name of more than `longest` characters is cut and ends with its checksum. A shorter one must never be cut, because
    jobs of earlier releases have topics with such names.
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
    """Check that rights can be granted for the topics of a pattern.

    Raises:
        ValueError: The topics have no common prefix.
        IllegalName: Kafka does not allow the prefix.
    """
    start = literal_start(pattern)
    if not start:
        raise ValueError(
            f"the pattern {pattern!r} needs a prefix that all its topics share, because rights are granted by prefix: "
            "begin it with letters, as in re.compile(r'orders-.*')"
        )
    check_name(start)


def literal_start(pattern: str) -> str:
    """Return the common prefix of all names that match a pattern."""
    # The alternatives of a pattern need not have a common prefix.
    if "|" in pattern:
        return ""
    match = re.match(r"(?:[A-Za-z0-9_-]|\\[.-])*", pattern)
    assert match is not None
    start = match.group()
    # A character that is repeated or optional is not part of the prefix.
    if pattern[len(start) : len(start) + 1] in ("*", "?", "{"):
        start = start[:-2] if start[-2:-1] == "\\" else start[:-1]
    return start.replace("\\", "")


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that match a pattern as a whole, in order."""
    wanted = re.compile(pattern)
    return tuple(sorted(name for name in names if wanted.fullmatch(name)))
