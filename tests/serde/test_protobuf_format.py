"""The Protobuf format, tested with a message class that is part of the protobuf package."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.codec import DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.serde.protobuf_format import protobuf

struct_pb2: Any = pytest.importorskip("google.protobuf.struct_pb2")
STRUCTS = protobuf(struct_pb2.Struct).codec(no_contracts)


def message(**fields: Any) -> Any:
    struct = struct_pb2.Struct()
    struct.update(fields)
    return struct


def test_message_survives_a_round_trip_with_a_deterministic_map_order() -> None:
    assert STRUCTS.decode(STRUCTS.encode(message(a=1, b="x"))) == message(b="x", a=1)
    assert STRUCTS.encode(message(a=1, b="x")) == STRUCTS.encode(message(b="x", a=1))


def test_other_bytes_and_other_values_are_refused() -> None:
    with pytest.raises(DecodeError, match="3 bytes are not a valid Struct"):
        STRUCTS.decode(b"\xff\xff\xff")
    with pytest.raises(EncodeError, match="is not a valid Struct"):
        STRUCTS.encode("text")


def test_protobuf_message_is_refused_as_a_key() -> None:
    with pytest.raises((TypeError, TopologyError), match="can't be used for keys"):
        Topology().stream("in", str, key=protobuf(struct_pb2.Struct)).filter(lambda *_: True)
