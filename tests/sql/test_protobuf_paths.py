"""SQL and KSML identify messages of a Protobuf schema in the same way, including second and nested messages."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.formats import no_contracts
from forebay.ksml.protobufs import protobuf_format
from forebay.serde.proto_messages import message_of, path_bytes, read_path
from forebay.serde.schema import Schema
from forebay.serde.subjects import PROTOBUF, LocalSubjects
from forebay.sql.catalog import Form, Named
from forebay.sql.schemas.topics import frame_schema
from forebay.sql.types import INT

TEXT = """syntax = "proto3"; package shop;
message First { string id = 1; map<string, int32> m = 2; message Part { int32 id = 1; message Deep { int32 id = 1; } } }
message Second { int32 id = 1; message Part { int32 id = 1; } }"""
PATHS = {
    "Second": (1,),
    "shop.Second": (1,),
    # Like protoc, number the entry message of a map before other nested messages.
    "First.Part": (0, 1),
    "First.Part.Deep": (0, 1, 0),
    "shop.Second.Part": (1, 0),
}


def codec_of(registry: LocalSubjects, name: str) -> Any:
    schema_id = registry.register("t-value", Schema(TEXT), PROTOBUF).schema_id
    columns = (Named("id", INT),)
    return frame_schema("PROTOBUF", columns, Form(name, "", TEXT, schema_id, columns), "t-value", "", wraps=True)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_written_under_a_path_is_read_by_it(name: str, registry: LocalSubjects) -> None:
    codec = codec_of(registry, name)
    data = codec.encode((7,))
    assert read_path(data, 5)[0] == PATHS[name]
    assert codec.decode(data) == (7,)
    assert path_bytes(message_of(TEXT, name)) == data[5:-2]


@pytest.mark.parametrize("name", ["Second"])
def test_ksml_and_sql_read_what_the_other_wrote(name: str, registry: LocalSubjects) -> None:
    codec = codec_of(registry, name)
    schema_id = registry.register("t-value", Schema(TEXT), PROTOBUF).schema_id
    ksml_format = protobuf_format(name, TEXT, schema_id, lambda number: registry.schema(number).text, lambda _: False)
    ksml = ksml_format.codec(no_contracts)
    assert codec.decode(ksml.encode({"id": 7})) == (7,)
    assert ksml.decode(codec.encode((8,)))["id"] == 8
    assert codec.encode((9,)) == ksml.encode({"id": 9})
