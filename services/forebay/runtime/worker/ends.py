"""The ends of the partitions that a task group reads or writes."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from forebay.kafka.partition_ends import Place, partition_ends

_WHOSE = "the partitions'"


def last_stable(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the last stable offsets: all transactions before them are decided. Raises Unavailable."""
    return partition_ends(admin, places, IsolationLevel.READ_COMMITTED, _WHOSE)


def high_watermarks(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the offsets after the last record, committed or not. Raises Unavailable."""
    # Not those cached by the reader's consumer, because they are as old as its last fetch, which may be seconds.
    return partition_ends(admin, places, IsolationLevel.READ_UNCOMMITTED, _WHOSE)
