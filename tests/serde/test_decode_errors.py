"""Bytes that can't be decoded are rejected, and the error names the place."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.codec import DecodeError, Unavailable
from forebay.serde import LocalSchemas, RegistryUnavailable, Schema, load_contract
from forebay.serde.codec import AvroCodec
from forebay.serde.framing import header
from tests.serde.everything import CONTRACT, Everything, codec_of, everything
from tests.serde.paths import BothPaths
from user_sessions.model import Location, UserActivity

SCHEMAS = LocalSchemas()
CODEC = BothPaths(UserActivity, SCHEMAS.register(load_contract("user-sessions", "UserActivity")), SCHEMAS)
ACTIVITY = UserActivity(
    event_id="e1",
    user_id="u1",
    action="click",
    session_id="s1",
    duration_ms=5,
    timestamp=1_700_000_000_000,
    page="/home",
    location=Location("NL", "Utrecht"),
)
DATA = CODEC.encode(ACTIVITY)
EVERYTHING = codec_of(Everything, CONTRACT)


def refusal(data: bytes | None) -> str:
    with pytest.raises(DecodeError) as caught:
        CODEC.decode(data)  # type: ignore[arg-type]
    return str(caught.value)


def test_no_value() -> None:
    assert refusal(None) == "the value is null: nothing to decode"


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\0"])
def test_too_short_for_a_header(data: bytes) -> None:
    assert f"{len(data)} bytes are too short" in refusal(data)


def test_another_magic_byte() -> None:
    assert "the first byte is 0x7b, not the magic byte 0x00" in refusal(b'{"json": 1}')


def test_an_id_beyond_what_registries_give() -> None:
    assert "4294967295 is beyond 2147483647" in refusal(b"\0\xff\xff\xff\xff")


def test_an_unknown_schema_id() -> None:
    assert refusal(header(99) + DATA[5:]) == "unknown schema id 99: known are [1]"


@pytest.mark.parametrize("length", range(5, len(DATA)))
def test_truncated_anywhere(length: int) -> None:
    assert "truncated" in refusal(DATA[:length])


def test_truncation_names_the_field() -> None:
    assert refusal(DATA[:-1]).startswith("UserActivity.location.city: truncated: a length says 7 bytes, 6 are left")


def test_trailing_bytes() -> None:
    assert refusal(DATA + b"abc") == f"UserActivity: 3 trailing bytes after the record's {len(DATA)}"


def test_text_that_is_not_utf8() -> None:
    assert "UserActivity.page: the string is not UTF-8" in refusal(DATA.replace(b"/home", b"/h\xffme"))


def test_a_branch_that_the_union_does_not_have() -> None:
    assert "UserActivity.event_id: the union has 2 branches, not one with index 3" in refusal(header(1) + b"\6")


def test_a_negative_length() -> None:
    assert "UserActivity.event_id: a length is negative: -1" in refusal(header(1) + b"\2\1")


def test_a_number_of_more_than_64_bits() -> None:
    assert "a number is longer than 64 bits" in refusal(header(1) + b"\2" + b"\xff" * 10)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_record_or_a_decode_error(body: bytes) -> None:
    try:
        outcome: object = CODEC.decode(header(1) + body)
    except DecodeError as error:
        outcome = error
    assert isinstance(outcome, UserActivity) or str(outcome).startswith("UserActivity")


@pytest.mark.long
@given(everything, st.data())
def test_damaged_bytes_give_the_same_on_both_paths(record: Everything, data: st.DataObject) -> None:
    damaged = bytearray(EVERYTHING.encode(record))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(5, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        EVERYTHING.decode(bytes(damaged))


@dataclass(frozen=True, slots=True)
class Percentage:
    value: int

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 100:
            raise ValueError(f"{self.value} is not a percentage")


def test_a_record_class_that_refuses_its_values() -> None:
    codec = codec_of(
        Percentage, {"type": "record", "name": "Percentage", "fields": [{"name": "value", "type": "long"}]}
    )
    assert codec.decode(header(1) + b"\x64") == Percentage(50)
    with pytest.raises(
        DecodeError, match=r"^Percentage: Percentage refuses these values: ValueError: 101 is not a perc"
    ):
        codec.decode(header(1) + b"\xca\1")


class Registry:
    """A registry that is unavailable while `away` is set."""

    def __init__(self) -> None:
        self.schemas = LocalSchemas()
        self.away = False
        self.asked: list[int] = []

    def schema(self, schema_id: int) -> Schema:
        self.asked.append(schema_id)
        if self.away:
            raise RegistryUnavailable("away")
        return self.schemas.schema(schema_id)


def test_unreachable_registry_is_not_a_decode_error() -> None:
    registry = Registry()
    contract = load_contract("user-sessions", "UserActivity")
    codec = AvroCodec(UserActivity, registry.schemas.register(contract), registry)
    theirs = registry.schemas.register(Schema(contract.text + " "))
    data = header(theirs.schema_id) + DATA[5:]
    registry.away = True
    with pytest.raises(Unavailable) as caught:
        codec.decode(data)
    assert not isinstance(caught.value, DecodeError)
    assert codec.decode(DATA) == ACTIVITY

    registry.away = False
    assert [codec.decode(data), codec.decode(data)] == [ACTIVITY, ACTIVITY]
    assert registry.asked == [theirs.schema_id] * 2
