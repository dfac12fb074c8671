"""Left and outer joins emit records with null keys as unmatched (KIP-962). Inner joins drop them."""

from __future__ import annotations

import pytest

from forebay.builder import Topology
from forebay.operators.results import Alone
from forebay.testing import TestDriver
from forebay.time import within


def both(one: str | None, other: str | None) -> str:
    return f"{one}+{other}"


def key_of(_: str | None, value: str) -> str | None:
    return value.partition(":")[0] or None


ROWS = [("1", "ann:a"), ("1", ":b"), ("2", ":c"), ("2", "bob:d"), ("1", None), ("2", ":e"), ("2", None), ("3", ":f")]


def foreign(kind: str, tasks: int) -> list[tuple[str, str | None]]:
    t = Topology()
    left, right = t.table("left", str, store="left"), t.table("right", str, store="right")
    join = left.left_join_by_foreign_key if kind == "left" else left.join_by_foreign_key
    join(right, key_of, both, str, store="joined").to_stream().to("out")
    driver = TestDriver(t, tasks=tasks, raise_errors=True)
    driver.pipe("ann", "rome", "right", 1)
    for number, (key, value) in enumerate(ROWS):
        driver.pipe(key, value, "left", 2 + number)
        driver.restart()
    return [(output.key, output.value) for output in driver.outputs]


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_row_whose_foreign_key_is_or_becomes_null(tasks: int) -> None:
    assert foreign("left", tasks) == [
        ("1", "ann:a+rome"), ("1", ":b+None"), ("2", ":c+None"), ("2", "bob:d+None"), ("1", None), ("2", ":e+None"),
        ("2", None), ("3", ":f+None"),
    ]  # fmt: skip
    assert foreign("inner", tasks) == [("1", "ann:a+rome"), ("1", None)]


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_stream_s_null_keys_and_a_table(tasks: int) -> None:
    """The null key may come from the topic, from select_key, or from a global table join's key function."""
    t = Topology()
    table = t.table("table", str, store="table")
    everywhere = t.global_table("global", str, store="global")
    direct = t.stream("in", str)
    rekeyed = t.stream("other", str).select_key(key_of, str)
    for name, stream in (("direct", direct), ("rekeyed", rekeyed)):
        stream.left_join(table, both, str).to(f"{name}-left")
        stream.join(table, both, str).to(f"{name}-inner")
    direct.left_join(everywhere, both, str, key_of=key_of).to("global-left")
    direct.join(everywhere, both, str, key_of=key_of).to("global-inner")
    driver = TestDriver(t, tasks=tasks, raise_errors=True)
    driver.pipe("ann", "rome", "table", 1)
    driver.pipe("ann", "oslo", "global", 1)
    for topic in ("in", "other"):
        driver.pipe(None, ":a", topic, 2)
        driver.pipe("ann", "ann:b", topic, 3)
    assert sorted((o.topic, o.key, o.value) for o in driver.outputs if o.key) == [
        ("direct-inner", "ann", "ann:b+rome"), ("direct-left", "ann", "ann:b+rome"),
        ("global-inner", "ann", "ann:b+oslo"), ("global-left", "ann", "ann:b+oslo"),
        ("rekeyed-inner", "ann", "ann:b+rome"), ("rekeyed-left", "ann", "ann:b+rome"),
    ]  # fmt: skip
    assert sorted((o.topic, o.value) for o in driver.outputs if o.key is None) == [
        ("direct-left", ":a+None"), ("global-left", ":a+None"), ("rekeyed-left", ":a+None"),
    ]  # fmt: skip


@pytest.mark.parametrize("alone", Alone)
@pytest.mark.parametrize("is_rekeyed", [False, True])
def test_null_keys_of_two_streams(alone: Alone, is_rekeyed: bool) -> None:
    t = Topology()
    left, right = t.stream("left", str), t.stream("right", str)
    if is_rekeyed:
        left, right = left.select_key(key_of, str), right.select_key(key_of, str)
    windows = within(5)
    left.join(right, both, str, windows=windows, store="inner").to("inner")
    left.left_join(right, both, str, windows=windows, store="l", alone=alone).to("left-join")
    left.outer_join(right, both, str, windows=windows, store="o", alone=alone).to("outer")
    driver = TestDriver(t, tasks=2, raise_errors=True)
    driver.pipe(None, ":a", "left", 1)
    driver.pipe(None, ":b", "right", 1)
    assert [(o.topic, o.key, o.value, o.timestamp) for o in driver.outputs] == [
        ("left-join", None, ":a+None", 1), ("outer", None, ":a+None", 1), ("outer", None, "None+:b", 1),
    ]  # fmt: skip
