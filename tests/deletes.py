"""A record without value in a topic that is a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Delete:
    topic: str
    timestamp: int
    """The Kafka record's, in ms."""
