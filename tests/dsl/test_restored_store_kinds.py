"""A test driver refuses to restore the state of a store of another type, as a job does at its start."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from forebay import Emission, SessionWindows, SlidingWindows, Stream, TestDriver, Topology
from forebay.runtime.errors import StoreChanged
from forebay.time import hopping, tumbling

KINDS: dict[str, Callable[[Stream[str, str]], object]] = {
    "key-value": lambda stream: stream.group_by_key().count(store="x"),
    "tumbling": lambda stream: stream.group_by_key().windowed_by(tumbling(10)).count(store="x"),
    "hopping": lambda stream: stream.group_by_key().windowed_by(hopping(20, 5), Emission.FINAL).count(store="x"),
    "sliding": lambda stream: stream.group_by_key().windowed_by(SlidingWindows(10)).count(store="x"),
    "sessions": lambda stream: stream.group_by_key().windowed_by(SessionWindows(10)).count(store="x"),
    "rows": lambda stream: stream.to_table(store="x"),
}


def driver(kind: str) -> TestDriver:
    topology = Topology()
    stream = topology.stream("in", str)
    KINDS[kind](stream)
    return TestDriver(topology)


def restore(before: str, after: str) -> TestDriver:
    old, new = driver(before), driver(after)
    old.pipe("k", "v", "in", 5)
    new.restore({task.place: (list(task.table.scan(b"")), task.position) for task in old.sub_topologies[0].state_tasks})
    return new


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_continues(kind: str) -> None:
    new = restore(kind, kind)
    new.pipe("k", "v", "in", 6)
    assert not new.errors


@pytest.mark.parametrize(("before", "after"), [*permutations(KINDS, 2)])
def test_another_kind_is_refused(before: str, after: str) -> None:
    with pytest.raises(StoreChanged, match=r"store x holds rows of .* declared .*forebay (reset|store upgrade)"):
        restore(before, after)
