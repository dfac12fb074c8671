"""Encoded records decode to the same values, and both directions agree with fastavro."""

from __future__ import annotations

import dataclasses
import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings

from forebay.records import FrozenMap, replace
from forebay.serde import AvroCodec, LocalSchemas, load_contract
from forebay.serde.framing import header
from tests.serde.everything import CONTRACT, Everything, Inner, Other, codec_of, everything
from tests.serde.paths import BothPaths
from user_sessions import model

pytestmark = pytest.mark.long

CODEC = codec_of(Everything, CONTRACT)
PARSED = fastavro.parse_schema(json.loads(json.dumps(CONTRACT)))


def plain(value: Any) -> Any:
    """Return a record as dicts and lists, which fastavro accepts."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


def fastavro_bytes(record: Everything) -> bytes:
    document = plain(record)
    if isinstance(record.any_of, Inner | Other):
        document["any_of"] = (f"tests.{type(record.any_of).__name__}", document["any_of"])
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, PARSED, document)
    return header(1) + buffer.getvalue()


@given(everything)
def test_encoded_values_are_decoded_again(record: Everything) -> None:
    assert CODEC.decode(CODEC.encode(record)) == record


@given(everything)
def test_bytes_are_those_fastavro_reads(record: Everything) -> None:
    read = fastavro.schemaless_reader(BytesIO(CODEC.encode(record)[5:]), PARSED, None)
    assert read == plain(record)


@given(everything)
def test_bytes_of_fastavro_are_decoded(record: Everything) -> None:
    assert CODEC.decode(fastavro_bytes(record)) == record


@settings(max_examples=20)
@given(everything)
def test_decoded_records_are_frozen_instances_of_their_own_type(record: Everything) -> None:
    decoded = CODEC.decode(CODEC.encode(record))
    assert type(decoded) is Everything
    assert type(decoded.inner) is Inner
    assert hash(decoded.inner) == hash(record.inner)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decoded.text = "changed"  # type: ignore[misc]


@pytest.mark.parametrize("length", [0, 63, 64, 8_191, 8_192, 300_000])
def test_strings_and_collections_of_any_length(length: int) -> None:
    inner = Inner("é" * length, length)
    location = {"type": "record", "name": "Inner", "fields": [{"name": "name", "type": "string"}, *INNER_SIZE]}
    codec = codec_of(Inner, location)
    assert codec.decode(codec.encode(inner)) == inner

    profile = replace(PROFILE, devices_used=tuple(map(str, range(length))))
    assert PROFILES.decode(PROFILES.encode(profile)) == profile


def test_arrays_in_several_blocks_and_with_sizes_are_read() -> None:
    codec = codec_of(
        Inner, {"type": "record", "name": "Inner", "fields": [{"name": "name", "type": "string"}, *INNER_SIZE]}
    )
    assert codec.decode(header(1) + b"\2a\2\4") == Inner("a", 2)
    words = codec_of(Words, {"type": "record", "name": "Words", "fields": [{"name": "words", "type": ARRAY}]})
    two_blocks_the_second_with_its_size = b"\2\2a\1\4\2b\0"
    assert words.decode(header(1) + two_blocks_the_second_with_its_size) == Words(("a", "b"))


def test_numbers_in_more_bytes_than_needed_are_read() -> None:
    codec = codec_of(
        Inner, {"type": "record", "name": "Inner", "fields": [{"name": "name", "type": "string"}, *INNER_SIZE]}
    )
    overlong = header(1) + b"\x82\x00a" + b"\x82\x00" + b"\x84\x80\x00"
    assert codec.decode(overlong) == Inner("a", 2)


@pytest.mark.parametrize("name", ["UserActivity", "UserProfile", "UserSessionStats"])
def test_contracts_of_services_fit_their_records(name: str) -> None:
    schemas = LocalSchemas()
    AvroCodec(getattr(model, name), schemas.register(load_contract("user-sessions", name)), schemas)


@dataclasses.dataclass(frozen=True, slots=True)
class Words:
    words: tuple[str, ...]


ARRAY = {"type": "array", "items": "string"}
INNER_SIZE: list[dict[str, object]] = [{"name": "size", "type": ["null", "long"]}]
PROFILE = model.UserProfile(
    current_session=None,
    total_sessions=1,
    total_time_ms=2,
    actions_count=FrozenMap({"click": 1}),
    first_seen=3,
    last_activity=4,
    devices_used=(),
    browsers_used=(),
    countries_visited=(),
    page_counts=FrozenMap(),
    most_visited_pages=(),
)
_schemas = LocalSchemas()
PROFILES = BothPaths(model.UserProfile, _schemas.register(load_contract("user-sessions", "UserProfile")), _schemas)
