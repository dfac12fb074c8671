"""All rows of ended stores are deleted from a table, some at once, and no others."""

from __future__ import annotations

import json

import pytest

from forebay.runtime.task.ended_stores import row_deletions
from forebay.runtime.task.orphaned_rows import parked_key
from forebay.stores.event_ids import PREFIX as EVENT_IDS
from forebay.stores.internal import FILLED, KINDS, PARKED, TIMERS
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.memory import MemoryTable

KEPT = {
    b"stays\0a": b"1",
    b"x-stays\0a": b"1",
    b"\x01marks\0stays\0latest": b"9",
    KINDS + b"stays": b"KeyValueStore",
    LAYOUTS + b"stays": b"{}",
    EVENT_IDS + b"\xff\xfe": b"\xff",
    parked_key("removed", b"stays\0a"): b"1",
    parked_key("removed", EVENT_IDS + b"\xff\xfe"): b"\xff",
    parked_key("removed", KINDS + b"stays"): b"KeyValueStore",
    FILLED + b"of-stays": b'{"stays": {}}',
    TIMERS + b"close: stays\0": b"9",
    TIMERS + b"process x: later\0key": b"9",
}
ENDED = {
    **{b"x\0%d" % number: b"1" for number in range(7)},
    b"\x01marks\0x\0latest": b"9",
    KINDS + b"x": b"KeyValueStore",
    LAYOUTS + b"x": b"{}",
    parked_key("removed", b"x\0a"): b"1",
    parked_key("removed", KINDS + b"x"): b"KeyValueStore",
    FILLED + b"x": b'{"stays": {}}',
    TIMERS + b"close: x\0": b"9",
    parked_key("removed", TIMERS + b"release: x\0"): b"9",
}


@pytest.mark.parametrize("most", [1, 3, 1_000])
def test_the_rows_of_ended_stores_are_deleted(most: int) -> None:
    table = MemoryTable()
    filled = {FILLED + b"stays": json.dumps({"stays": {}, "x": {"sent": "k"}}).encode()}
    table.apply(list((KEPT | ENDED | filled).items()), b"")
    sizes = []
    for changes in row_deletions(table, lambda store: store == "x", most):
        table.apply(changes, b"")
        sizes.append(len(changes))
    assert dict(table.scan(b"")) == KEPT | {FILLED + b"stays": b'{"stays": {}}'}
    assert max(sizes) <= most


def test_parked_rows_are_deleted_if_the_task_has_no_others() -> None:
    table = MemoryTable()
    parked = {parked_key("removed", row): value for row, value in ENDED.items() if not row.startswith(PARKED)}
    table.apply(list((KEPT | parked).items()), b"")
    for changes in row_deletions(table, lambda store: store == "x"):
        table.apply(changes, b"")
    assert dict(table.scan(b"")) == KEPT


def test_nothing_is_committed_if_no_store_has_ended() -> None:
    table = MemoryTable()
    table.apply(list(KEPT.items()), b"")
    assert not list(row_deletions(table, lambda _: False))
