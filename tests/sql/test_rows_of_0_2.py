"""A job resumes from the rows that release 0.2 stored, although rows are now written differently."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from forebay.codec import DecodeError
from forebay.formats import no_contracts
from forebay.runtime.errors import StoreChanged
from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.schema import Schema
from forebay.serde.subjects import PROTOBUF, LocalSubjects
from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, ArrayType, DecimalType, MapType, StructType
from forebay.sql.values import row_format
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.testing import TestDriver
from tests.sql.driven import Driven

Rows = list[tuple[bytes, bytes]]


def carry(old: TestDriver, new: TestDriver, change: Callable[[Rows], Rows] = lambda rows: rows) -> None:
    """Start a job from the state of another one, whose rows `change` may modify."""
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    new.restore({task.place: (change(list(task.table.scan(b""))), task.position) for task in tasks})


TABLE = """CREATE TABLE t (id STRING PRIMARY KEY, name STRING, h BYTES HEADER('x'))
  WITH (KAFKA_TOPIC='t', VALUE_FORMAT='{}');
CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.id, name, {} FROM s JOIN t ON s.id = t.id;"""


@pytest.mark.parametrize(
    ("encoding", "value"), [("JSON", {"name": "ann"}), ("DELIMITED", "ann"), ("DELIMITED", "Ünal")]
)
@pytest.mark.parametrize("more", ["t.ROWPARTITION, t.ROWOFFSET", "h"])
def test_a_table_whose_rows_were_its_topics_values(encoding: str, value: Any, more: str) -> None:
    # Release 0.2 stored rows with record columns as this release stores rows without them.
    old, new = Driven(TABLE.format(encoding, "n"), tasks=1), Driven(TABLE.format(encoding, more), tasks=1)
    old.send("t", "k", value)
    carry(old.driver, new.driver)
    name = value["name"] if isinstance(value, dict) else value
    assert [row for _, row, _ in new.send("s", "k", {"n": 1}, 1)] == [(name, *[None] * len(more.split(",")))]
    new.send("t", "k", {"name": "bob"} if encoding == "JSON" else "bob", 2, [("x", b"!")])
    ((_, row, _),) = new.send("s", "k", {"n": 1}, 3)
    assert row[0] == "bob"
    assert None not in row
    assert new.driver.errors == []


MAPS = """CREATE STREAM s (id STRING KEY, m MAP<INT, DOUBLE>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT id, COLLECT_LIST(m) AS l FROM s GROUP BY id;"""


def with_text_keys(rows: Rows) -> Rows:
    number, text = (msgspec.msgpack.encode({key: 2.5}) for key in (1, "1"))
    assert any(number in value for _, value in rows)
    return [(key, value.replace(number, text)) for key, value in rows]


def test_an_aggregate_that_holds_maps_with_texts_for_their_keys() -> None:
    old, new = Driven(MAPS, tasks=1), Driven(MAPS, tasks=1)
    old.send("s", "k", {"m": {"1": 2.5}})
    carry(old.driver, new.driver, with_text_keys)
    assert new.send("s", "k", {"m": {"2": 3.5}}) == [("k", (({1: 2.5}, {2: 3.5}),), 0)]


@pytest.mark.parametrize(
    ("kind", "text", "key"),
    [
        (INT, "1", 1), (BIGINT, "-5000000000", -5_000_000_000), (DOUBLE, "1.5", 1.5), (BOOLEAN, "true", True),
        (BOOLEAN, "False", False), (DecimalType(4, 2), "1.50", Decimal("1.50")), (INT, "null", None),
        (STRING, "null", "null"), (STRING, "1", "1"),
    ],
)  # fmt: skip
def test_keys_of_maps_at_any_depth(kind: Any, text: str, key: Any) -> None:
    inner = MapType(kind, STRING)
    codec = row_format((INT, inner, ArrayType(inner), StructType((("m", MapType(STRING, inner)),)))).codec(no_contracts)
    held = {text: "v"}
    assert codec.decode(msgspec.msgpack.encode((7, held, [None, held], [{"a": held}]))) == (
        7, {key: "v"}, (None, {key: "v"}), ({"a": {key: "v"}},),
    )  # fmt: skip


@pytest.mark.parametrize("row", [({"one": "v"},), ({"1": 5},), ("1",), ({"1": "v"}, 1), 1])
def test_an_invalid_row_is_refused(row: Any) -> None:
    codec = row_format((MapType(INT, STRING),)).codec(no_contracts)
    with pytest.raises(DecodeError, match="bytes are not a row"):
        codec.decode(msgspec.msgpack.encode(row))


PAYMENTS = """syntax = "proto3"; import "confluent/type/decimal.proto"; import "confluent/meta.proto";
message Payment { int32 n = 1; confluent.type.Decimal price = 2 [(confluent.field_meta) =
  { params: [ { key: "precision", value: "9" }, { key: "scale", value: "2" } ] }]; }"""
JOIN = """CREATE STREAM p (id STRING KEY{}) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='PROTOBUF');
CREATE STREAM s (id STRING KEY, m INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM p JOIN s WITHIN 1 HOUR ON p.id = s.id;"""


def without_layouts(rows: Rows) -> Rows:
    return [(key, value) for key, value in rows if not key.startswith(LAYOUTS)]


def payment(registry: LocalSubjects) -> bytes:
    message = class_of(message_of(PAYMENTS))(n=5)
    head = header(registry.register("p-value", Schema(PAYMENTS), PROTOBUF).schema_id)
    data: bytes = head + b"\0" + message.SerializeToString()
    return data


def test_rows_without_a_column_that_the_schema_has_now_are_refused_at_the_start(registry: LocalSubjects) -> None:
    record = payment(registry)
    old, new = Driven(JOIN.format(", n INT"), tasks=1), Driven(JOIN.format(""), tasks=1)
    old.driver.pipe_bytes(b"k", record, 0, "p")
    with pytest.raises(
        StoreChanged, match=r"do not have the declared columns.*PRICE DECIMAL\(9, 2\).*write the columns"
    ):
        carry(old.driver, new.driver, without_layouts)


def test_rows_that_fit_are_taken_over(registry: LocalSubjects) -> None:
    record = payment(registry)
    old, new = Driven(JOIN.format(", n INT"), tasks=1), Driven(JOIN.format(", n INT"), tasks=1)
    old.driver.pipe_bytes(b"k", record, 0, "p")
    carry(old.driver, new.driver, without_layouts)
    assert new.send("s", "k", {"m": 7}, 1) == [("k", (5, "k", 7), 1)]
