"""Records are frozen, quickly built, and fit their contracts."""

import dataclasses
import json

import pytest

from forebay.fastinit import fast_init
from forebay.records import check_record_type
from forebay.serde import load_contract
from tests.user_sessions.harness import activity, codec
from user_sessions.model import Location, Session, UserActivity, UserProfile, UserSessionStats

CONTRACT_TYPES = [UserActivity, UserProfile, UserSessionStats]


@pytest.mark.parametrize("record_type", CONTRACT_TYPES)
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("user-sessions", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == [f.name for f in dataclasses.fields(record_type)]
    assert schema["namespace"] == "forebay.user_sessions"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


def test_required_fields_have_no_default_and_optional_ones_are_null() -> None:
    fields = {f["name"]: f for f in json.loads(load_contract("user-sessions", "UserActivity").text)["fields"]}
    required = {"action", "session_id", "duration_ms", "timestamp"}
    assert {name for name, field in fields.items() if "default" not in field} == required
    for name in fields.keys() - required:
        assert fields[name]["type"][0] == "null"
        assert fields[name]["default"] is None


def test_a_record_survives_its_contract() -> None:
    event, avro = activity(5), codec(UserActivity)
    assert avro.decode(avro.encode(event)) == event


def test_records_refuse_changes_and_compare_by_value() -> None:
    session = Session("s", 1, 2, 3, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.actions = 9  # type: ignore[misc]
    assert session == Session(session_id="s", started_at=1, last_activity=2, actions=3, duration_ms=4)
    assert hash(session) == hash(Session("s", 1, 2, 3, 4))
    assert type(session) is Session
    assert dataclasses.replace(session, actions=9).actions == 9
    assert Location() == Location(None, None)
    assert repr(Location("NL")) == "Location(country='NL', city=None)"


def test_fast_init_keeps_the_signature() -> None:
    with pytest.raises(TypeError, match="duration_ms"):
        Session("s", 1, 2, 3)  # type: ignore[call-arg]


def test_fast_init_refuses_what_it_would_change() -> None:
    @dataclasses.dataclass(frozen=True)
    class WithoutSlots:
        field: int

    @dataclasses.dataclass(frozen=True, slots=True)
    class Checked:
        field: int

        def __post_init__(self) -> None: ...

    @dataclasses.dataclass(frozen=True, slots=True)
    class Made:
        field: dict[str, int] = dataclasses.field(default_factory=dict)

    for record_type, reason in ((WithoutSlots, "slots"), (Checked, "__post_init__"), (Made, "plain defaults")):
        with pytest.raises(TypeError, match=reason):
            fast_init(record_type)
