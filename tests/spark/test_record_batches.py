"""Records become Arrow batches of limited size, and values that a column can't represent are rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from forebay.codec import DecodeError
from forebay.spark import records
from forebay.spark.decoding import Decoding
from forebay.spark.metrics import NoMeasures
from forebay.spark.ranges import Range
from forebay.spark.records import BATCH_BYTES, BATCH_ROWS, RecordReader, record_batches
from forebay.spark.source_options import Mode, read_source_options
from forebay.spark.store_entries import StoreEntries
from tests.spark.test_stores import KAFKA, NAMES, declare

GIVEN = {"subscribe": "a", "bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}
JSON = json.dumps({"type": "object", "properties": {"id": {"type": "integer", "connect.type": "int32"}}})
FRAME = b"\0\0\0\0\1"
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Message:
    """A record of a Kafka consumer."""

    at: int
    data: bytes

    def __len__(self) -> int:
        return len(self.data)

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return self.data

    def topic(self) -> str:
        return "a"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 1, 7


def read(monkeypatch: pytest.MonkeyPatch, values: list[bytes], mode: str, decoding: Decoding) -> list[pa.RecordBatch]:
    def messages(*_arguments: Any, **_options: Any) -> Iterator[Message]:
        return (Message(at, data) for at, data in enumerate(values))

    monkeypatch.setattr(records, "committed_messages", messages)
    schema = (
        spark.StructType()
        .add("key", spark.StringType())
        .add("value", decoding.column().kind)
        .add("topic", spark.StringType(), False)
        .add("partition", spark.IntegerType(), False)
        .add("offset", spark.LongType(), False)
        .add("timestamp", spark.TimestampType(), False)
    )
    if mode == "column":
        schema.add("_error", spark.StringType())
    options = read_source_options({**GIVEN, "mode": mode})
    reader = RecordReader(options, Decoding("string"), decoding, schema, NoMeasures())
    return list(reader.read(Range("a", 0, 0, len(values))))


@pytest.mark.parametrize("bad", [LARGEST + 1, -LARGEST - 2, 2**80, "1", None], ids=str)
@pytest.mark.parametrize("place", range(4))
def test_value_that_does_not_fit_its_column_is_a_decoding_error(
    monkeypatch: pytest.MonkeyPatch, bad: Any, place: int
) -> None:
    decoding = Decoding("json_schema", JSON if bad is not None else JSON[:-1] + ', "required": ["id"]}')
    ids: list[Any] = [LARGEST, 0, 1, 2]
    ids[place] = bad
    values = [FRAME + json.dumps({"id": number}).encode() for number in ids]
    with pytest.raises(DecodeError, match=f"a-0 offset {place} can't be decoded"):
        read(monkeypatch, values, "fail", decoding)

    def rows(mode: str) -> list[Any]:
        return [row for batch in read(monkeypatch, values, mode, decoding) for row in batch.to_pylist()]

    assert [row["value"]["id"] for row in rows("skip")] == [number for number in ids if number is not bad]
    complete = rows("column")
    assert [row["offset"] for row in complete] == [0, 1, 2, 3]
    assert {row["key"] for row in complete} == {"k"}
    assert [row["value"] is None for row in complete] == [row["_error"] is not None for row in complete]
    assert [row["offset"] for row in complete if row["_error"]] == [place]


def test_large_records_end_a_batch_before_it_has_all_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    large = [b"x" * (BATCH_BYTES // 4)] * 9
    assert [batch.num_rows for batch in read(monkeypatch, large, "fail", Decoding("bytes"))] == [4, 4, 1]
    small = [b"x"] * (BATCH_ROWS + 1)
    assert [batch.num_rows for batch in read(monkeypatch, small, "fail", Decoding("bytes"))] == [BATCH_ROWS, 1]


def test_a_store_s_value_that_its_column_cannot_hold_follows_the_mode() -> None:
    schema = spark.StructType().add("key", "string").add("value", "long").add("partition", "integer")
    rows: list[Any] = [["a", 1, 0], ["b", 2**80, 0]]

    def keys_and_values(mode: Mode) -> list[tuple[Any, ...]]:
        entries = StoreEntries(declare(NAMES[0]), declare(NAMES[0]).codec(KAFKA), mode)
        own = schema if mode is not Mode.COLUMN else spark.StructType([*schema.fields]).add("_error", "string")
        given = rows if mode is not Mode.COLUMN else [[*row, None] for row in rows]
        batches = record_batches(given, to_arrow_schema(own, timezone="UTC"), entries.without_misfit)
        return [(row["key"], row["value"], bool(row.get("_error"))) for batch in batches for row in batch.to_pylist()]

    assert keys_and_values(Mode.SKIP) == [("a", 1, False)]
    assert keys_and_values(Mode.COLUMN) == [("a", 1, False), ("b", None, True)]
    with pytest.raises(DecodeError, match="the row with the key 'b' can't be decoded"):
        keys_and_values(Mode.FAIL)
