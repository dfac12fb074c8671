"""Where the partitions end that a task group reads or writes."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from forebay.kafka.ends import Place, partition_ends

_WHOSE = "the partitions'"


def last_stable(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the offsets up to which every transaction is decided. Raises Unavailable."""
    return partition_ends(admin, places, IsolationLevel.READ_COMMITTED, _WHOSE)


def high_watermarks(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the offsets behind the last record, committed or not. Raises Unavailable."""
    # Not cached by the reader's consumer: a consumer knows the end of the last fetch, which may be seconds old.
    return partition_ends(admin, places, IsolationLevel.READ_UNCOMMITTED, _WHOSE)
