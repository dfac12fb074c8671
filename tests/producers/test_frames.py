"""Valid events are framed by their contract; malformed ones have exactly the declared defect."""

import io
import json

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.producing.base import Defect, Event, Options
from forebay.producing.frames import FAR_FUTURE_MS, Frames, altered_contract
from forebay.producing.sources import generate, source_of
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract
from user_sessions.model import UserActivity

SOURCE = source_of("user_activity")
CONTRACT = load_contract(SOURCE.service, SOURCE.contract)
EVENT: Event[UserActivity] = next(generate("user_activity", Options(count=1)))


class Bench:
    """Frames and a reader that share a registry."""

    def __init__(self) -> None:
        self.schemas = LocalSchemas()
        self.codec = AvroCodec(UserActivity, self.schemas.register(CONTRACT), self.schemas)
        self.registered: list[str] = []
        self.frames = Frames(self.codec.encode, CONTRACT.text, SOURCE.required_field, self.register)

    def register(self, subject: str, text: str) -> int:
        self.registered.append(subject)
        return self.schemas.register(Schema(text)).schema_id

    def frame(self, defect: Defect | None = None) -> bytes:
        key, value = self.frames.frame(EVENT._replace(defect=defect))
        assert key == EVENT.key.encode()
        assert value is not None
        return value


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_ordinary_event(bench: Bench) -> None:
    assert bench.codec.decode(bench.frame()) == EVENT.value


@pytest.mark.parametrize(
    ("defect", "reason"),
    [
        (Defect.UNDECODABLE, "truncated"),
        (Defect.WRONG_MAGIC, "magic byte"),
        (Defect.UNKNOWN_SCHEMA_ID, "unknown schema id"),
        (Defect.MISSING_FIELD, "session_id"),
        (Defect.NULL_FIELD, "session_id"),
        (Defect.WRONG_TYPE, "session_id"),
    ],
    ids=lambda value: getattr(value, "value", ""),
)
def test_a_reader_refuses_it_for_the_reason_meant(bench: Bench, defect: Defect, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        bench.codec.decode(bench.frame(defect))


@pytest.mark.parametrize("defect", [Defect.MISSING_FIELD, Defect.NULL_FIELD, Defect.WRONG_TYPE])
def test_all_other_fields_are_as_they_were(bench: Bench, defect: Defect) -> None:
    data = bench.frame(defect)
    writer = json.loads(bench.schemas.schema(int.from_bytes(data[1:5], "big")).text)
    fields = fastavro.schemaless_reader(io.BytesIO(data[5:]), writer, writer)
    assert isinstance(fields, dict)
    assert fields["event_id"] == EVENT.value.event_id
    assert fields.get("session_id") in (None, True)


def test_wrong_magic_and_unknown_id_keep_the_body(bench: Bench) -> None:
    ordinary = bench.frame()
    assert bench.frame(Defect.WRONG_MAGIC) == b"\x01" + ordinary[1:]
    assert bench.frame(Defect.UNKNOWN_SCHEMA_ID) == b"\0\x7f\xff\xff\xff" + ordinary[5:]


def test_null_key_and_null_value(bench: Bench) -> None:
    assert bench.frames.frame(EVENT._replace(defect=Defect.NULL_KEY)) == (None, bench.frame())
    assert bench.frames.frame(EVENT._replace(defect=Defect.NULL_VALUE)) == (EVENT.key.encode(), None)


@pytest.mark.parametrize(
    ("defect", "timestamp"), [(Defect.NEGATIVE_TIMESTAMP, -1), (Defect.FAR_FUTURE_TIMESTAMP, FAR_FUTURE_MS)]
)
def test_impossible_event_times(bench: Bench, defect: Defect, timestamp: int) -> None:
    assert bench.codec.decode(bench.frame(defect)).timestamp == timestamp


def test_each_schema_is_registered_once_under_its_own_subject(bench: Bench) -> None:
    for _ in range(3):
        for defect in Defect:
            bench.frames.frame(EVENT._replace(defect=defect))
    assert sorted(bench.registered) == ["missing-field", "null-field", "wrong-type"]


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="UserActivity has no field 'nothing'"):
        altered_contract(json.loads(CONTRACT.text), "nothing", Defect.MISSING_FIELD)
