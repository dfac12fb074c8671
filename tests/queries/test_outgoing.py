"""A record that is specified as text is encoded with the formats that the service of its topic declares."""

from __future__ import annotations

import json

import pytest

from forebay.catalog import Service, all_services
from forebay.kafka.settings import KafkaSettings
from forebay.queries import outgoing
from forebay.queries.outgoing import WrongRecord, encode_record
from forebay.records import as_dict
from forebay.serde import AvroCodec, RegisteredSchema, load_contract
from forebay.serde.key_formats import OneSchema
from user_sessions.model import UserActivity

KAFKA = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x")
ACTIVITY = {
    "event_id": "e",
    "user_id": "u",
    "action": "click",
    "session_id": "s",
    "duration_ms": 5,
    "timestamp": 1_000,
    "page": "/",
}


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def register(_registry: object, service: str, name: str, _topic: str) -> RegisteredSchema:
        return RegisteredSchema(1, load_contract(service, name))

    monkeypatch.setattr(outgoing, "register_contract", register)


def encode(topic: str, key: str | None, value: str | None, *services: Service) -> outgoing.Outgoing:
    return encode_record(topic, key, value, 7, services or all_services().values(), KAFKA)


def test_a_record_of_a_contract_is_avro_with_the_contract_s_id() -> None:
    record = encode("user_activity", "u1", json.dumps(ACTIVITY))
    assert (record.topic, record.key, record.timestamp) == ("user_activity", b"u1", 7)
    assert record.value is not None
    registered = RegisteredSchema(1, load_contract("user-sessions", "UserActivity"))
    codec = AvroCodec(UserActivity, registered, OneSchema(1))
    assert as_dict(codec.decode(record.value)).items() >= ACTIVITY.items()


def test_no_value_deletes_a_row() -> None:
    assert encode("menu_prices", "pizza", None).value is None


@pytest.mark.parametrize(
    ("topic", "value", "words"),
    [
        ("no_topic", "{}", "no service declares the topic no_topic: `forebay services` lists"),
        ("user_activity", "{", "Write a JSON object with the fields event_id, user_id"),
        ("user_activity", "7", "Write a JSON object with the fields event_id, user_id"),
        ("user_activity", json.dumps({**ACTIVITY, "extra": 1}), "extra"),
        ("user_activity", json.dumps({**ACTIVITY, "duration_ms": "long"}), "duration_ms"),
        ("order_events", '{"extra": 1}', "there is no field extra"),
        ("order_events", '{"order_id": 1}', "Write a JSON object with the fields"),
        ("order_events", "7", "Write a JSON object with the fields"),
        ("order_events", "[]", "Write a JSON object with the fields"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_correction(topic: str, value: str, words: str) -> None:
    with pytest.raises(WrongRecord) as refused:
        encode(topic, "k", value)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_decimal_may_be_written_as_a_number_or_a_text() -> None:
    event = dict.fromkeys(("event_id", "order_id", "status", "product_id", "customer_id"), "x")
    for price in (19.5, "19.5"):
        assert encode("order_events", "k", json.dumps({**event, "quantity": 1, "price": price, "timestamp": 1})).value
