"""Records with too large or too deep values go to `.errors` before they are converted, and the task continues."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects
from forebay.serde.varint import integer_bytes
from tests.sql.driven import Driven

SIZE = 100_000
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
LIST = {"name": "more", "type": ["null", "Row"], "default": None}
SOME, NONE = b"\2", b"\0"
GOOD = b"\x04\x30\x39"


def over(form: str, kind: str) -> Driven:
    return Driven(
        f"CREATE STREAM s (k VARCHAR KEY, n {kind}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='{form}');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT k, n FROM s;"
    )


def values(driven: Driven, *records: bytes) -> list[Any]:
    for at, record in enumerate(records):
        driven.driver.pipe_bytes(b"k", record, at, "in")
    return [str(output.value[0]) for output in driven.driver.outputs]


def head_of(registry: LocalSubjects, *fields: Any) -> bytes:
    text = json.dumps({"type": "record", "name": "Row", "fields": fields})
    return header(registry.register("in-value", Schema(text)).schema_id)


@pytest.mark.parametrize("more", [[], [LIST]], ids=["plain", "recursive"])
def test_an_avro_decimal_of_many_bytes(more: list[Any], registry: LocalSubjects) -> None:
    end = NONE if more else b""
    head = head_of(registry, {"name": "N", "type": PRICE}, *more)
    driven = over("AVRO", "DECIMAL(10, 2)")
    assert values(driven, head + integer_bytes(SIZE) + b"\x7f" * SIZE + end, head + GOOD + end) == ["123.45"]
    [error] = driven.driver.errors
    assert "holds more than 10 digits" in str(error)


def test_avro_records_in_records(registry: LocalSubjects) -> None:
    head = head_of(registry, {"name": "N", "type": "int"}, LIST)
    driven = over("AVRO", "INT")
    assert values(driven, head + b"\2\2" * 1_000_000 + b"\2" + NONE, head + b"\4" + NONE) == ["2"]
    [error] = driven.driver.errors
    assert "nested more than 200 levels" in str(error)


@pytest.mark.parametrize("fields", [{"seconds": 2**62}, {"seconds": -(2**62)}])
def test_a_protobuf_time_beyond_64_bits(fields: dict[str, int], registry: LocalSubjects) -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message Row { google.protobuf.Timestamp N = 1; }'
    )
    head = header(registry.register("in-value", Schema(text), "PROTOBUF").schema_id) + b"\0"
    row, good = (class_of(message_of(text))() for _ in range(2))
    row.N.seconds, good.N.seconds = fields["seconds"], 1
    driven = over("PROTOBUF", "TIMESTAMP")
    read = values(driven, head + row.SerializeToString(), head + good.SerializeToString())
    assert read == ["1000"]
    assert len(driven.driver.errors) == 1


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, json.dumps(["x" * SIZE]), json.dumps({"a": [1] * SIZE})])
def test_the_message_of_a_large_json_value_is_short(value: str) -> None:
    driven = over("JSON", "INT")
    assert values(driven, f'{{"N": {value}}}'.encode(), b'{"N": 3}') == ["3"]
    [error] = driven.driver.errors
    assert len(error.headers["error.message"]) < 1_000
