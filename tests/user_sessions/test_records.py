"""Records are frozen, and fit their contracts."""

import json

import pytest

from forebay.records import check_record_type, fields_of, replace
from forebay.serde import load_contract
from tests.user_sessions.harness import activity, codec
from user_sessions.model import Location, Session, UserActivity, UserProfile, UserSessionStats

CONTRACT_TYPES = [UserActivity, UserProfile, UserSessionStats]


@pytest.mark.parametrize("record_type", CONTRACT_TYPES)
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("user-sessions", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
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


def test_record_survives_an_avro_round_trip() -> None:
    event, avro = activity(5), codec(UserActivity)
    assert avro.decode(avro.encode(event)) == event


def test_records_refuse_changes_and_compare_by_value() -> None:
    session = Session("s", 1, 2, 3, 4)
    with pytest.raises(AttributeError):
        session.actions = 9  # type: ignore[misc]
    assert session == Session(session_id="s", started_at=1, last_activity=2, actions=3, duration_ms=4)
    assert hash(session) == hash(Session("s", 1, 2, 3, 4))
    assert type(session) is Session
    assert replace(session, actions=9).actions == 9
    assert Location() == Location(None, None)
    assert repr(Location("NL")) == "Location(country='NL', city=None)"


def test_a_record_needs_all_its_fields() -> None:
    with pytest.raises(TypeError, match="duration_ms"):
        Session("s", 1, 2, 3)  # type: ignore[call-arg]
