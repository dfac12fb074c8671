"""State of an edited class or an edited `group_by`: carried over by the columns' names, or refused at the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from forebay.records import Record
from forebay.runtime.errors import StoreChanged
from forebay.serde.json_format import json_of
from forebay.stateful import stateful_job
from forebay.testing import TestDriver


class Input(Record):
    a: str
    b: str


class Number(Record):
    a: int
    b: str


class Output(Record):
    earlier: str


def keeping(shape: str, schema: str, value: tuple[Any, ...], keys: str = "k string") -> type[StatefulProcessor]:
    """Return a class that writes a value for each record, and returns what the state had before."""

    class Keeping(StatefulProcessor):
        def init(self, handle: Any) -> None:
            if shape == "value":
                self.state = handle.getValueState("x", schema)
            elif shape == "list":
                self.state = handle.getListState("x", schema)
            else:
                self.state = handle.getMapState("x", keys, schema)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
            list(rows)
            if shape == "value":
                earlier = [] if self.state.get() is None else [self.state.get()]
                self.state.update(value)
            elif shape == "list":
                earlier = list(self.state.get())
                self.state.appendValue(value)
            else:
                earlier = [row for _, row in self.state.iterator()]
                self.state.updateValue((1,) if "int" in keys else ("1",), value)
            yield Row(earlier=str(earlier))

        def close(self) -> None:
            """Nothing to close."""

    return Keeping


def driver_of(processor: Any, group_by: Any = "a", record: type[Any] = Input) -> TestDriver:
    """Return a driver of one task."""
    job = stateful_job(
        processor,
        input_topic="s",
        input=json_of(record),
        output_topic="o",
        output=json_of(Output),
        group_by=group_by,
    )
    return TestDriver(job, tasks=1)


def earlier_state(old: TestDriver, new: TestDriver, value: Any, later: Any = None) -> str:
    """Return what an edited class reads of the state that another one left."""
    old.pipe("k", value, "s", 1_000)
    assert not old.errors
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    new.restore({task.place: (list(task.table.scan(b"")), task.position) for task in tasks})
    new.pipe("k", later or value, "s", 2_000)
    assert not new.errors
    return str(new.outputs[-1].value.earlier)


VALUE = Input(a="1", b="2")
SHAPES = ("value", "list", "map")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        (("a int, b int", (1, 2)), ("a int, b int", (1, 2)), (1, 2)),
        (("a int, b int", (1, 2)), ("b int, c string, a bigint", (2, "z", 1)), (2, None, 1)),
        (("a int, b int", (1, 2)), ("a int", (1,)), (1,)),
    ],
    ids=["none", "added, widened, moved", "removed"],
)
def test_columns_are_carried_over_by_name(shape: str, before: Any, after: Any, read: tuple[Any, ...]) -> None:
    old, new = (driver_of(keeping(shape, *edit)) for edit in (before, after))
    assert earlier_state(old, new, VALUE) == str([read])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("schema", "value"), [("a string", ("1",)), ("a date", (None,)), ("a struct<x: int>", (None,))]
)
def test_another_type_is_refused(shape: str, schema: str, value: tuple[Any, ...]) -> None:
    old, new = driver_of(keeping(shape, "a int", (1,))), driver_of(keeping(shape, schema, value))
    with pytest.raises(StoreChanged, match="store Keeping-x holds rows of state a integer, but is"):
        earlier_state(old, new, VALUE)


@pytest.mark.parametrize("keys", ["k int", "k string, l string"])
def test_other_keys_of_a_map_are_refused(keys: str) -> None:
    old, new = driver_of(keeping("map", "a int", (1,))), driver_of(keeping("map", "a int", (1,), keys))
    with pytest.raises(StoreChanged, match="holds keys in the format state key text, map key k string, but is"):
        earlier_state(old, new, VALUE)


@pytest.mark.parametrize(
    ("before", "after"),
    [(("a", Input), ("a", Number)), ((("a", "b"), Input), (("b", "a"), Input)), (("a", Input), (("a", "b"), Input))],
    ids=["type", "order", "number"],
)
def test_other_grouping_columns_are_refused(before: Any, after: Any) -> None:
    processor = keeping("value", "a int", (1,))
    old, new = driver_of(processor, *before), driver_of(processor, *after)
    later = Number(a=1, b="2") if after[1] is Number else VALUE
    with pytest.raises(StoreChanged, match="store Keeping-x holds keys in the format state key"):
        earlier_state(old, new, VALUE, later)
