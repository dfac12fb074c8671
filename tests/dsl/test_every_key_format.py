"""Every operator works with keys of every format. Restarts and the number of tasks change no result."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import Any

import pytest

from forebay import BOOLEAN, BYTES, DOUBLE, INT, LONG, TEXT, UUID, Format, Record, TestDriver, Topology, json_of
from forebay.operators import UntilTimeLimit, UntilWindowCloses
from forebay.runtime.task.record_formats import topic_of
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.layouts import decode_layout
from forebay.stores.table import prefix_end
from forebay.time import SessionWindows, tumbling, within


class Place(Record):
    """A composite key."""

    street: str
    number: int


KEYS: dict[str, tuple[Format[Any], list[Any]]] = {
    "text": (TEXT, ["", "a", "é", "\x00"]),
    "int": (INT, [0, -1, 2**31 - 1, -(2**31)]),
    "long": (LONG, [0, -1, 2**63 - 1, -(2**63)]),
    "double": (DOUBLE, [0.5, -0.25, 1e300, float("inf")]),
    "boolean": (BOOLEAN, [True, False]),
    "bytes": (BYTES, [b"", b"\x00", b"\xff\xfe"]),
    "uuid": (UUID, [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]),
    "record": (json_of(Place), [Place("a", 1), Place("", -1)]),
}
TASK_TIMES = {"closed", "calm", "alone", "waited"}
"""Topics whose results depend on stream time, which each task tracks separately."""


def topology_of(key: Format[Any]) -> Topology:
    topology, windows = Topology(), tumbling(10)
    stream = topology.stream("in", int, key=key)
    table, others = topology.table("rows", int, key=key, store="rows"), topology.table("o", int, key=key, store="o")
    versions = topology.table("versions", int, key=key, store="versions", history_retention_ms=50)
    stream.group_by_key().count(store="counts").to_stream().to("counts")
    closed = stream.group_by_key().windowed_by(windows).count(store="windows")
    closed.suppress(UntilWindowCloses(windows), store="closing").to_stream().to("closed")
    stream.group_by_key().windowed_by(SessionWindows(5)).count(store="sessions").to_stream().to("sessions")
    stream.join(table, lambda one, other: one + other, int).to("joined")
    zeros = stream.filter(lambda _, value: value == 0)
    stream.left_join(zeros, lambda one, other: f"{one}{other}", str, windows=within(1), store="near").to("alone")
    table.group_by(lambda row, _: row, key).count(store="groups").to_stream().to("groups")
    table.suppress(UntilTimeLimit(3), store="calming").to_stream().to("calm")
    stream.deduplicate(lambda _, value: str(value), store="ids", ttl_ms=100).to("once")
    last = stream.group_by_key().reduce(lambda _, value: value, store="last")
    table.outer_join(last, lambda one, other: f"{one}/{other}", str).to_stream().to("outer")
    foreign = table.left_join_by_foreign_key(others, lambda row, _: row, lambda a, b: f"{a}/{b}", str, store="foreign")
    foreign.to_stream().to("foreign")
    stream.left_join(versions, lambda a, b: f"{a}:{b}", str, grace_ms=5, waiting="waiting").to("waited")
    return topology


def results(key: Format[Any], keys: list[Any], tasks: int, restarts: bool) -> dict[tuple[str, str], list[Any]]:
    """Run the topology. Return values and timestamps of the outputs, by topic and key."""
    driver, time = TestDriver(topology_of(key), tasks=tasks), 0
    for turn in range(3):
        for one in keys:
            for topic, value in (("rows", turn), ("o", 10 + turn), ("versions", 2 * turn), ("in", turn + 1), ("in", 0)):
                driver.pipe(one, value, topic, time)
                if restarts:
                    driver.restart()
            time += 2
    for topic in ("rows", "o"):
        driver.pipe(keys[0], None, topic, time)
        if restarts:
            driver.restart()
    driver.advance_stream_time(1_000)
    assert not driver.errors
    sent: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for output in driver.outputs:
        sent[output.topic, repr(output.key)].append((output.value, output.timestamp))
    return sent


@pytest.mark.long
@pytest.mark.parametrize("name", KEYS)
def test_restarts_and_tasks_change_no_result(name: str) -> None:
    key, keys = KEYS[name]
    live = results(key, keys, tasks=1, restarts=False)
    topics = {topic for topic, _ in live}
    assert topics == {"counts", "sessions", "joined", "groups", "once", "outer", "foreign"} | TASK_TIMES
    assert {row for topic, row in live if topic == "counts"} == {repr(one) for one in keys}
    assert results(key, keys, tasks=1, restarts=True) == live
    spread = results(key, keys, tasks=3, restarts=True)
    own = {place: sent for place, sent in live.items() if place[0] not in TASK_TIMES | {"sessions"}}
    assert {place: sent for place, sent in spread.items() if place in own} == own


def recorded_keys(key: Format[Any], keys: list[Any]) -> dict[bytes, Any]:
    """Return the identity of the key format that each store and repartition recorded, by the name of its row."""
    driver = TestDriver(topology_of(key), tasks=1)
    for topic in ("rows", "o", "versions", "in"):
        for value in (1, 0):
            driver.pipe(keys[0], value, topic, 1)
    tables = [task.table for sub_topology in driver.sub_topologies for task in sub_topology.state_tasks]
    layouts = [row for table in tables for row in table.scan(LAYOUTS, prefix_end(LAYOUTS))]
    # A repartition's row is named by its topic and the digest of the formats.
    return {topic_of(name).encode() or name: decode_layout(data)["keys"] for name, data in layouts}


def test_every_store_and_repartition_records_the_format_of_its_keys() -> None:
    of_ints, of_longs = recorded_keys(*KEYS["int"]), recorded_keys(*KEYS["long"])
    assert of_ints.keys() == of_longs.keys()
    assert len(of_ints) == 19 + 3
    assert [name for name, keys in of_ints.items() if keys == of_longs[name]] == []
