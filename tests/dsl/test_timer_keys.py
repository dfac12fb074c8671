"""A timer's key has the type of the record keys."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology
from forebay.processor import NO_KEY, Context, Processor, Timer
from forebay.stores import KeyValueStore
from forebay.testing import TestDriver


class Remembered(Processor[str, str]):
    """Forwards what is stored under the timer's key."""

    values = KeyValueStore("values", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        self.values.put(ctx.key, event)
        ctx.schedule("later", ctx.timestamp + 5)
        ctx.schedule("of the task", ctx.timestamp + 5, key=NO_KEY)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(f"{timer.name}: {self.values.get(timer.key) if timer.key is not None else 'no key'}")


@pytest.mark.parametrize(
    ("kind", "key"), [(str, "a"), (str, ""), (int, 0), (int, 5), (int, -5), (bytes, b"\xff"), (bytes, b"")]
)
def test_timer_reads_the_state_stored_under_its_key(kind: Any, key: Any) -> None:
    topology = Topology()
    topology.stream("in", str, key=kind).process(Remembered, str, kind, name="p").to("o")
    driver = TestDriver(topology)
    driver.pipe(key, "first", "in", 1)
    driver.pipe(key, "second", "in", 100)
    assert sorted(output.value for output in driver.outputs) == ["later: first", "of the task: no key"]
    assert {output.key for output in driver.outputs if output.value.startswith("later")} == {key}
    assert {output.key for output in driver.outputs if output.value.startswith("of the task")} == {None}
    assert not driver.errors
