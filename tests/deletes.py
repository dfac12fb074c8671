"""Deletes (records without a value) among other records, in topics that are read as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.testing import TestDriver
from tests.plain import plain


@dataclass(frozen=True)
class Delete:
    topic: str
    timestamp: int
    """Timestamp of the Kafka record in ms."""


def pipe_each(
    driver: TestDriver, arrived: Iterable[tuple[str, Any]], topics: Mapping[type[Any], str]
) -> list[tuple[str, str, dict[str, Any] | None, int]]:
    """Process (key, event or Delete) one by one. Return topic, key, value (None for a delete) and event time of each.

    Args:
        topics: Input topics by class of their events.
    """
    records: list[tuple[str, str, dict[str, Any] | None, int]] = []
    for key, event in arrived:
        if isinstance(event, Delete):
            driver.pipe_bytes(key.encode(), None, event.timestamp, event.topic)
            records.append((event.topic, key, None, event.timestamp))
        else:
            topic = topics[type(event)]
            driver.pipe(key, event, topic)
            records.append((topic, key, plain(event), event.timestamp))
    return records
