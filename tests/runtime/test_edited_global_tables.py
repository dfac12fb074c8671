"""When statements are added and removed, each sub-topology still has the right rows of a global table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.moves import plan_moves
from forebay.runtime.task.places import Wanted, Written
from forebay.testing import TestDriver
from tests.interruptions import kill_at_commit
from tests.runtime.continued import Edited


def lookups(*names: str) -> Callable[[Topology], None]:
    """Return a function that adds a lookup in one global table for the records of each named topic."""

    def add(topology: Topology) -> None:
        rows = topology.global_table("g", str, store="g")
        for name in names:
            looked_up = topology.stream(name, str).left_join(
                rows, lambda what, row: f"{what}={row}", str, key_of=lambda _, what: what
            )
            looked_up.to(f"{name}-out")

    return add


def count(topology: Topology) -> None:
    topology.stream("c", str).group_by_key().count(store="c").to_stream().map_values(lambda _, n: str(n), str).to("n")


def values(driver: TestDriver) -> list[Any]:
    return [output.value for output in driver.outputs]


def look_up(edited: Edited, statements: Sequence[Callable[[Topology], None]], *asked: tuple[str, str]) -> list[Any]:
    """Start the job, send one record per lookup (topic, row), and return the results."""
    driver = edited.start(*statements)
    for name, what in asked:
        driver.pipe("k", what, name, 1)
    return values(driver)


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_copy_that_was_not_filled_for_a_while_is_filled_again(tasks: int) -> None:
    """While `a` is removed, `b` fills the table's own store, and the copy that `b` used before falls behind."""
    edited = Edited(tasks)
    edited.send("g", "one", "1", 1)
    assert look_up(edited, [lookups("a", "b")], ("a", "one"), ("b", "one")) == ["one=1", "one=1"]
    edited.send("g", "one", "2", 2)
    edited.send("g", "two", "2", 2)
    assert look_up(edited, [lookups("b")], ("b", "one")) == ["one=2"]
    asked = [(name, what) for name in "ab" for what in ("one", "two")]
    assert look_up(edited, [lookups("a", "b")], *asked) == ["one=2", "two=2"] * 2


def test_rows_that_were_deleted_meanwhile_do_not_come_back() -> None:
    edited = Edited()
    edited.send("g", "one", "1", 1)
    assert look_up(edited, [lookups("a", "b")], ("b", "one")) == ["one=1"]
    edited.send("g", "one", None, 2)
    edited.send("g", "two", "2", 2)
    assert look_up(edited, [lookups("b")], ("b", "one")) == ["one=None"]
    edited.compact("g", "one")
    assert look_up(edited, [lookups("a", "b")], ("b", "one"), ("b", "two")) == ["one=None", "two=2"]


def test_no_row_is_skipped_if_the_only_reader_of_a_table_moves() -> None:
    edited = Edited()
    edited.send("g", "one", "1", 1)
    assert look_up(edited, [lookups("b"), count], ("b", "one")) == ["one=1"]
    edited.start(count)
    edited.send("g", "two", "2", 2)
    assert look_up(edited, [count, lookups("a")], ("a", "one"), ("a", "two")) == ["one=1", "two=2"]
    edited.send("g", "three", "3", 3)
    assert look_up(edited, [lookups("b"), count], ("b", "two"), ("b", "three")) == ["two=2", "three=3"]


def test_a_table_is_not_read_again_if_its_store_is_the_same() -> None:
    edited = Edited()
    edited.send("g", "one", "1", 1)
    edited.start(lookups("a", "b"), count)
    edited.start(count, lookups("a", "b"))
    edited.topics.partition("g", 0).records[:] = []
    driver = edited.start(lookups("b", "a"), count)
    assert all(dict(driver.store(store).items()) == {"one": "1"} for store in ("g", "g-b"))


def test_a_purge_that_was_interrupted_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.runtime.task.global_tables._MOST", 1)
    edited = Edited()
    for number in range(3):
        edited.send("g", str(number), "old", 1)
    edited.start(lookups("a", "b"))
    edited.send("g", "3", "new", 2)
    for number in range(3):
        edited.compact("g", str(number))
    with kill_at_commit(3):
        edited.start(lookups("b"))
    driver = edited.start(lookups("b"))
    assert dict(driver.store("g").items()) == {"3": "new"}


def left_by(position: TaskPosition, rows: list[tuple[bytes, bytes]]) -> Written:
    return Written(position, lambda prefix: [row for row in rows if row[0].startswith(prefix)])


def test_a_store_that_another_sub_topology_has_filled_since_is_filled_again() -> None:
    """The other sub-topology may have stopped before it had read the table to the end."""
    record, ends = (b"\x01kind\0g", b"KeyValueStore"), (("g", 0, 7),)
    positions = [
        TaskPosition("here", 5, ends=(*ends, (name, 0, 1)), sub_topology=name, global_stores=(("g", "g"),))
        for name in "ba"
    ]
    written = [left_by(positions[0], [record]), left_by(positions[1], [])]
    b, a = (
        Wanted(name, frozenset({(name, 0)}), frozenset({"g"}), frozenset({store}), frozenset({("g", store)}))
        for name, store in (("b", "g-b"), ("a", "g"))
    )
    moves = plan_moves([b, a], written)
    assert [moves[place].position.ends for place in (0, 1)] == [(("b", 0, 1),), (("a", 0, 1),)]
