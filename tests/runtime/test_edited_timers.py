"""Timers of a removed statement fire after the statement is added again, in the task that then has its store."""

from __future__ import annotations

from forebay.builder import Topology
from forebay.operators import Emission
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.moves import plan_moves
from forebay.runtime.task.places import Wanted, Written
from forebay.testing import TestDriver
from forebay.time import tumbling
from tests.runtime.continued import Edited


def count(topology: Topology) -> None:
    topology.stream("a", str).group_by_key().count(store="n").to_stream().map_values(lambda _, n: str(n), str).to("n")


def both(topology: Topology) -> None:
    stream = topology.stream("a", str)
    stream.group_by_key().count(store="n").to_stream().map_values(lambda _, n: str(n), str).to("n")
    windows = stream.group_by_key().windowed_by(tumbling(50), Emission.FINAL).count(store="windows")
    windows.to_stream().map(lambda key, n: (key.key, str(n)), str, str).to("windows")


def window_counts(driver: TestDriver) -> list[tuple[str, str]]:
    return [(output.key, output.value) for output in driver.outputs if output.topic == "windows"]


def test_windows_of_a_removed_statement_close_after_it_is_added_again() -> None:
    edited = Edited()
    edited.send("a", "x", "1", 10)
    edited.start(both)
    edited.send("a", "x", "2", 500)
    driver = edited.start(count)
    assert (window_counts(driver), driver.timers()) == ([], 0)
    edited.send("a", "y", "3", 510)
    driver = edited.start(both)
    assert window_counts(driver) == [("x", "1")]
    driver.pipe("y", "4", "a", 600)
    assert window_counts(driver) == [("x", "1"), ("y", "1")]


def left_by(name: str, rows: list[tuple[bytes, bytes]]) -> Written:
    position = TaskPosition("here", 5, ends=((name, 0, 1),), sub_topology=name)
    return Written(position, lambda prefix: [row for row in rows if row[0].startswith(prefix)])


def reader_of(name: str, timers: str) -> Wanted:
    partitions = frozenset({(name, 0)})
    return Wanted(name, partitions, frozenset(), frozenset(), has_timer=lambda timer: timer in timers)


def test_a_timer_goes_to_the_place_of_the_operator_that_sets_it() -> None:
    timer = (b"\x01timer\0close: w\0", b"due")
    moves = plan_moves([reader_of("a", ""), reader_of("b", "close: w")], [left_by("a", [timer]), left_by("b", [])])
    assert (moves[0].changes, moves[1].changes) == ([(timer[0], None)], [timer])
