"""Types of state, input and output: values are read as written, also under a changed schema."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.types import StructType

from forebay.codec import DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.records import FrozenMap, Record
from forebay.stateful.ddl import SchemaError, schema_of
from forebay.stateful.formats import state_format
from tests.stateful.processors import EveryState, drive

DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, 1, 123456)

VALUES = [
    ("tinyint", -128, -128),
    ("bigint", 1 << 62, 1 << 62),
    ("int", np.int64(5), 5),
    ("double", 2, 2.0),
    ("double", np.float32(0.5), 0.5),
    ("double", float("inf"), float("inf")),
    ("float", 0.1, 0.10000000149011612),
    ("string", "ünïcode", "ünïcode"),
    ("varchar(5)", np.str_("a"), "a"),
    ("boolean", np.bool_(True), True),
    ("binary", bytearray(b"\0\xff"), b"\0\xff"),
    ("decimal(10,2)", Decimal("1.005"), Decimal("1.00")),
    ("decimal(10,2)", 3, Decimal("3.00")),
    ("date", DAY, DAY),
    ("timestamp", MOMENT, MOMENT),
    ("timestamp_ntz", MOMENT, MOMENT),
    ("interval day to second", dt.timedelta(days=1, microseconds=5), dt.timedelta(days=1, microseconds=5)),
    ("array<int>", (1, None, 3), [1, None, 3]),
    ("array<double>", np.array([1.0, 2.0]), [1.0, 2.0]),
    ("map<int, array<date>>", {5: [DAY]}, {5: [DAY]}),
    ("struct<a: int, b: map<string, string>>", {"a": 1, "b": {}}, Row(a=1, b={})),
    ("array<struct<a: int NOT NULL>>", [(1,), Row(a=2)], [Row(a=1), Row(a=2)]),
]


@pytest.mark.parametrize(("kind", "given", "wanted"), VALUES, ids=[f"{kind} {given!r}" for kind, given, _ in VALUES])
def test_a_value_is_read_as_spark_reads_it(kind: str, given: Any, wanted: Any) -> None:
    codec: Any = state_format(f"`the column` {kind} COMMENT 'it''s one', other int", "state").codec(no_contracts)
    (value, other) = codec.decode(codec.encode(codec.canonical((given, None))))
    assert (value, other, type(value)) == (wanted, None, type(wanted))
    assert codec.canonical((value, None)) == (value, None)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("int", "5"),
        ("int", 5.0),
        ("int", True),
        ("tinyint", 128),
        ("double", "x"),
        ("string", 5),
        ("boolean", 1),
        ("binary", "x"),
        ("decimal(3,2)", Decimal("10")),
        ("decimal(3,2)", Decimal("NaN")),
        ("decimal(3,2)", 0.5),
        ("date", "2024-01-01"),
        ("timestamp", 5),
        ("array<int>", 5),
        ("array<int>", ["x"]),
        ("map<string, int>", [("a", 1)]),
        ("struct<a: int>", (1, 2)),
        ("struct<a: int>", 5),
        ("int NOT NULL", None),
    ],
)
def test_another_value_is_refused(kind: str, given: Any) -> None:
    codec: Any = state_format(f"n {kind}", "state").codec(no_contracts)
    with pytest.raises(EncodeError, match="state"):
        codec.canonical((given,))


@pytest.mark.parametrize(
    "text", ["n int", "n: int, m array<map<string,struct<a:int,b:decimal(3,1)>>>", "a int not null"]
)
def test_ddl_of_a_schema_can_be_parsed_again(text: str) -> None:
    schema = schema_of(text)
    assert schema_of(schema.simpleString().removeprefix("struct<").removesuffix(">")).names == schema.names
    assert isinstance(schema, StructType)


@pytest.mark.parametrize(
    "text", ["", "n", "n int,", "n int m int", "n array<int", "n array<int>>", "n !", "n interval year"]
)
def test_other_ddl_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="can't be read at"):
        schema_of(text)


def test_columns_may_be_added_removed_reordered_and_widened() -> None:
    old: Any = state_format("a int, b string, s struct<x: int, y: int>", "state").codec(no_contracts)
    new: Any = state_format("c date, s struct<y: bigint, z: string>, a double", "state").codec(no_contracts)
    assert new.decode(old.encode((1, "x", Row(x=1, y=2)))) == (None, Row(y=2, z=None), 1.0)
    strict: Any = state_format("a int, c int NOT NULL", "state").codec(no_contracts)
    with pytest.raises(DecodeError, match="c, which is NOT NULL"):
        strict.decode(old.encode((1, "x", None)))


def test_mutating_a_list_does_not_change_the_state() -> None:
    class Changes(EveryState):
        def init(self, handle: Any) -> None:
            super().init(handle)
            self.tags = handle.getValueState("tags", "tags array<string>")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            tags = ["a"]
            self.tags.update((tags,))
            tags.append("b")
            self.tags.get()[0].append("c")
            yield key[0], f"{self.tags.get()}"

    assert drive(Changes).pipe("k", _click())[0].value.text == "(['a'],)"


class Item(Record):
    """A record within a record."""

    name: str
    price: float | None


class Order(Record):
    """A record with a field of every type."""

    user: str
    at: int
    day: int
    items: tuple[Item, ...]
    first: Item | None
    sizes: FrozenMap[str, int]


def _click() -> Any:
    from tests.stateful.processors import Click  # noqa: PLC0415

    return Click("a", "home")


def test_rows_have_lists_dicts_rows_and_times_and_results_are_records_again() -> None:
    class Echo(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            for row in rows:
                assert row.items == [Row(name="x", price=1.5)]
                assert isinstance(row.items[0], Row)
                assert (type(row.items), type(row.sizes), row.first) == (list, dict, None)
                assert row.at == dt.datetime.fromtimestamp(1_700_000_000.123)
                assert row.day == dt.date(1970, 1, 11)
                yield Row(**{**row.asDict(), "day": 10, "first": {"name": "y", "price": None}})

    schema = "user string, at timestamp, day date, items array<string>, first string, sizes string"
    order = Order("a", 1_700_000_000_123, 10, (Item("x", 1.5),), None, FrozenMap(s=1))
    (output,) = drive(Echo, input=Order, output=Order, input_schema=schema).pipe("k", order)
    assert output.value == Order("a", 1_700_000_000_123, 10, (Item("x", 1.5),), Item("y", None), FrozenMap(s=1))


def test_values_without_fields_have_the_column_value() -> None:
    class Echo(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            return [Row(text=row.value * 2) for row in rows]

    driver = drive(Echo, input=str, output=str, group_by=None)
    assert driver.pipe("k", "ab")[0].value == "abab"
