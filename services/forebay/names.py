"""Names of topics, and of what topics are named after."""

from __future__ import annotations

import re

_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST = 249


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
        f"{name!r:.300} is no name that Kafka takes for a topic: letters of ASCII, digits, '.', '_' and '-', at most "
        f"{_LONGEST}: write {near!r:.300}"
    )
