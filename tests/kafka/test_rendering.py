"""Records are shown as one line of JSON, decoded if possible."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from forebay.kafka.render import Renderer
from forebay.serde import AvroCodec, LocalSchemas, RegistryUnavailable, Schema, load_contract
from forebay.serde.framing import header
from user_sessions.model import Location, UserActivity

SCHEMAS = LocalSchemas()
CODEC = AvroCodec(UserActivity, SCHEMAS.register(load_contract("user-sessions", "UserActivity")), SCHEMAS)
ACTIVITY = UserActivity("e1", "u1", "click", "s1", 5, 1_700_000_000_000, "/café", location=Location("NL", None))


@dataclass
class Record:
    """A fake Kafka message."""

    value_: bytes | None
    key_: bytes | None = b"u1"
    headers_: list[tuple[str, bytes | None]] | None = field(default_factory=list)

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 42

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.headers_


def render(record: Any, with_headers: bool = False) -> Any:
    line = Renderer(SCHEMAS, with_headers).line(record)
    assert "\n" not in line
    return json.loads(line)


def test_avro_is_decoded() -> None:
    line = render(Record(CODEC.encode(ACTIVITY)))
    assert {name: line[name] for name in ("partition", "offset", "timestamp", "key")} == {
        "partition": 3,
        "offset": 42,
        "timestamp": 1_700_000_000_000,
        "key": "u1",
    }
    assert line["value"]["page"] == "/café"
    assert line["value"]["location"] == {"country": "NL", "city": None}


def test_a_tombstone_has_no_value() -> None:
    assert render(Record(None, None))["value"] is None
    assert render(Record(None, None))["key"] is None


@pytest.mark.parametrize(
    ("value", "as_shown", "note"),
    [
        (b'{"total": 2}', {"total": 2}, "JSON"),
        (b'{"total": ', '{"total": ', "not Avro, shown as text"),
        (b"[1, 2]", [1, 2], "JSON"),
        (b"12.5", 12.5, "JSON"),
        (b'"text"', "text", "JSON"),
        (b"plain text", "plain text", "not Avro, shown as text"),
        (b"\xff\x00", "ff00", "not Avro, shown as hex"),
        (header(99) + b"x", "000000006378", "not Avro, shown as hex: unknown schema id 99"),
        (header(1) + b"\2", "000000000102", "not Avro, shown as hex: not a record of schema 1: "),
    ],
)
def test_other_values_are_shown_with_a_note(value: bytes, as_shown: object, note: str) -> None:
    line = render(Record(value))
    assert line["value"] == as_shown
    assert line["note"].startswith(note)


def test_trailing_bytes_are_noted() -> None:
    assert "3 trailing bytes" in render(Record(CODEC.encode(ACTIVITY) + b"abc"))["note"]


def test_headers_are_shown_when_asked_for() -> None:
    record = Record(None, headers_=[("error.stage", b"decode"), ("raw", b"\xff"), ("empty", None)])
    assert render(record, with_headers=True)["headers"] == {"error.stage": "decode", "raw": "ff", "empty": None}
    assert "headers" not in render(record)
    assert render(Record(None, headers_=None), with_headers=True)["headers"] == {}


def test_bytes_and_times_inside_a_record_are_shown() -> None:
    @dataclass(frozen=True, slots=True)
    class Mixed:
        raw: bytes

    text = '{"type": "record", "name": "Mixed", "fields": [{"name": "raw", "type": "bytes"}]}'
    codec = AvroCodec(Mixed, SCHEMAS.register(Schema(text)), SCHEMAS)
    assert render(Record(codec.encode(Mixed(b"\xff"))))["value"] == {"raw": "ff"}


def test_an_unavailable_registry_is_an_error_and_not_a_note() -> None:
    class Away:
        def schema(self, schema_id: int) -> Schema:
            raise RegistryUnavailable("away")

    record: Any = Record(CODEC.encode(ACTIVITY))
    with pytest.raises(RegistryUnavailable):
        Renderer(Away(), False).line(record)
