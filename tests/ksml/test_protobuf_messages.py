"""Records of a `protobuf` type must contain its message, according to the schema id and message path in the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay.codec import Codec, DecodeError
from forebay.formats import no_contracts
from forebay.ksml.formats import Formats
from forebay.ksml.schemas import NoRegistry, SchemaFiles
from forebay.ksml.types import parse_type

ORDERS = 'syntax = "proto3"; message Order { int32 id = 1; } message Refund { int32 id = 1; }'
OTHERS = 'syntax = "proto3"; message Refund { int32 id = 1; } message Order { int32 id = 1; }'
MOVED = 'syntax = "proto3"; package moved; message Order { int32 id = 1; }'
BROKEN = "message Order {"


class Schemas(NoRegistry):
    """A registry with schemas of other writers, whose ids begin at 1."""

    def text_of(self, schema_id: int) -> str:
        return (ORDERS, OTHERS, MOVED, MOVED, BROKEN)[schema_id - 1] if schema_id <= 5 else super().text_of(schema_id)

    def holds(self, subject: str, schema_id: int) -> bool:
        return schema_id == 3 or super().holds(subject, schema_id)


@pytest.fixture
def codec(tmp_path: Path) -> Codec[Any]:
    (tmp_path / "Order.proto").write_text(ORDERS)
    return Formats(SchemaFiles([tmp_path], Schemas())).of(parse_type("protobuf:Order")).codec(no_contracts)


def frame(schema_id: int, path: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + path + b"\x08\x07"


def test_message_of_the_declared_type_is_read_with_any_schema(codec: Codec[Any]) -> None:
    own = codec.encode({"id": 7})
    for data in (own, frame(1, b"\0"), frame(2, b"\x02\x02"), frame(3, b"\0")):
        assert codec.decode(data)["id"] == 7


@pytest.mark.parametrize(
    ("schema_id", "path", "reason"),
    [
        (1, b"\x02\x02", "it is a message Refund, not Order: name the schema of the message as the type"),
        (2, b"\0", "it is a message Refund, not Order"),
        (4, b"\0", "it is a message moved.Order, not Order"),
        (1, b"\x02\x04", r"the message \(2,\) of schema 1 is unknown"),
        (5, b"\0", "of schema 5 is unknown: .*: register a valid schema that has the message, and send the record"),
        (6, b"\0", "the schema id 6 is unknown without a registry: set FOREBAY_SCHEMA_REGISTRY_URL"),
    ],
)
def test_another_message_is_refused(codec: Codec[Any], schema_id: int, path: bytes, reason: str) -> None:
    for _ in range(2):
        with pytest.raises(DecodeError, match=reason):
            codec.decode(frame(schema_id, path))


def test_another_message_of_the_own_schema_is_refused(codec: Codec[Any]) -> None:
    own = codec.encode({"id": 7})
    with pytest.raises(DecodeError, match="it is a message Refund, not Order"):
        codec.decode(own[:5] + b"\x02\x02" + own[6:])
