"""Rows of removed sub-topologies and topics, which stay in internal changelogs in case these are added again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forebay.runtime.protocol.position import TaskPosition
from forebay.stores.event_ids import PREFIX as EVENT_IDS
from forebay.stores.event_ids import as_of_another
from forebay.stores.internal import PARKED, PARKED_TIMES
from forebay.stores.keys import WIDTH
from forebay.stores.table import Change


def parked_key(name: str, key: bytes) -> bytes:
    """Return the key under which a row of a sub-topology, or the times of a topic, are parked."""
    return PARKED + name.encode() + b"\0" + key


def parked_row(key: bytes) -> tuple[str, bytes]:
    """Return the name of the sub-topology or topic of a parked row, and the key that the row had."""
    name, _, row = key[len(PARKED) :].partition(b"\0")
    return name.decode(), row


def times_row(position: TaskPosition) -> bytes:
    """Return the value of a row of times. Of two tasks' rows, the greater has the later stream time (`spread`)."""
    return (position.stream_time + 1).to_bytes(WIDTH, "big") + replace(position, ends=()).to_json()


def parked_positions(rows: Iterable[tuple[bytes, bytes]]) -> dict[str, TaskPosition]:
    """Return from parked rows the position under which each topic was last read."""
    return {
        topic: TaskPosition.from_json(value[WIDTH:])
        for key, value in rows
        for topic, row in (parked_row(key),)
        if row == PARKED_TIMES
    }


def join_ids(row: bytes, value: bytes, origin: int, ids: dict[bytes, bytes]) -> Change:
    """Return a row that overwrites no other event ids, because rows of two places may have the same key.

    Args:
        origin: place from which the row is moved.
        ids: event ids of the place to which it is moved. The row's ids are added.
    """
    if row.startswith(EVENT_IDS):
        while ids.get(row, value) != value:
            other = as_of_another(row, origin)
            if other == row:  # of release 0.1
                value += ids[row]
                break
            row = other
        ids[row] = value
    return row, value
