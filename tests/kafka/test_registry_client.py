"""The client distinguishes success, final rejection and temporary failure of registry requests."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from forebay.codec import DecodeError
from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry import SchemaRegistry, subject_of
from forebay.kafka.registry_settings import Compatibility, RegistrySettings
from forebay.kafka.secret import Secret
from forebay.serde import RegistryUnavailable, Schema, UnknownSchemaId
from tests.kafka.registry_double import RegistryDouble, running

SCHEMA = Schema('{"type": "record", "name": "Order", "fields": []}')
LOOKUP = "POST /subjects/orders-value"
REGISTER = "POST /subjects/orders-value/versions"
CONFIG = "GET /config/orders-value"


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running() as server:
        yield server


def client(double: RegistryDouble, **settings: Any) -> SchemaRegistry:
    return SchemaRegistry(RegistrySettings(double.url, **settings), patience_s=0)


def test_subjects_follow_topics() -> None:
    assert subject_of("orders") == "orders-value"


def test_a_new_schema_is_registered_and_its_subject_guarded(double: RegistryDouble) -> None:
    double.answer(REGISTER, (200, {"id": 7}))
    registry = client(double)
    assert registry.register("orders-value", SCHEMA).schema_id == 7
    assert ("POST", "/subjects/orders-value/versions", {"schema": SCHEMA.text}) in double.requests
    assert ("PUT", "/config/orders-value", {"compatibility": "BACKWARD"}) in double.requests
    before = len(double.requests)
    assert registry.schema(7) is SCHEMA
    assert len(double.requests) == before


def test_a_known_schema_is_not_registered_again(double: RegistryDouble) -> None:
    double.answer(LOOKUP, (200, {"id": 7}))
    double.answer(CONFIG, (200, {"compatibilityLevel": "BACKWARD"}))
    assert client(double).register("orders-value", SCHEMA).schema_id == 7
    assert {(method, path) for method, path, _ in double.requests} == {
        ("POST", "/subjects/orders-value"),
        ("GET", "/config/orders-value"),
    }


def test_an_incompatible_schema_is_refused_with_reason_and_remedy(double: RegistryDouble) -> None:
    double.answer(REGISTER, (409, {"error_code": 409, "message": "io.x.RuleException: field price has no default"}))
    with pytest.raises(RegistryRefused) as caught:
        client(double).register("orders-value", SCHEMA)
    message = str(caught.value)
    assert "the schema Order is incompatible with what orders-value holds: field price has no default; " in message
    assert "give new fields a default" in message


def test_a_subject_with_weaker_compatibility_is_refused(double: RegistryDouble) -> None:
    double.answer(LOOKUP, (200, {"id": 7}))
    double.answer(CONFIG, (200, {"compatibilityLevel": "NONE"}))
    with pytest.raises(RegistryRefused, match="compatibility NONE, which is weaker than BACKWARD: send PUT"):
        client(double).register("orders-value", SCHEMA)
    assert client(double, compatibility=Compatibility.NONE).register("orders-value", SCHEMA).schema_id == 7


@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"])
def test_a_subject_with_stronger_compatibility_is_accepted(double: RegistryDouble, level: str) -> None:
    double.answer(LOOKUP, (200, {"id": 7}))
    double.answer(CONFIG, (200, {"compatibilityLevel": level}))
    assert client(double).register("orders-value", SCHEMA).schema_id == 7


def test_schemas_are_requested_once(double: RegistryDouble) -> None:
    double.answer("GET /schemas/ids/7", (200, {"schema": SCHEMA.text}))
    registry = client(double)
    assert [registry.schema(7), registry.schema(7)] == [SCHEMA, SCHEMA]
    assert len(double.requests) == 1


def test_an_unknown_id_is_a_decode_error_and_remembered_for_a_while(double: RegistryDouble) -> None:
    now = [0.0]
    registry = SchemaRegistry(RegistrySettings(double.url), patience_s=0, clock=lambda: now[0])
    for _ in range(3):
        with pytest.raises(UnknownSchemaId, match="unknown schema id 8") as caught:
            registry.schema(8)
    assert isinstance(caught.value, DecodeError)
    assert len(double.requests) == 1
    now[0] = 11.0
    double.answer("GET /schemas/ids/8", (200, {"schema": SCHEMA.text}))
    assert registry.schema(8) == SCHEMA


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_failing_registry_is_unavailable(double: RegistryDouble, status: int) -> None:
    double.answer("GET /schemas/ids/7", (status, "<html>"))
    with pytest.raises(RegistryUnavailable, match=f"is failing: HTTP {status} for /schemas/ids/7"):
        client(double).schema(7)


def test_a_failed_request_is_retried_for_a_while(double: RegistryDouble, caplog: pytest.LogCaptureFixture) -> None:
    double.answer("GET /schemas/ids/7", (503, ""), (503, ""), (200, {"schema": SCHEMA.text}))
    assert SchemaRegistry(RegistrySettings(double.url), patience_s=30).schema(7) == SCHEMA
    assert [record.getMessage().rpartition(": ")[2].partition(" after ")[0] for record in caplog.records] == [
        "retrying",
        "recovered",
    ]


def test_an_unreachable_registry_is_unavailable() -> None:
    with running() as gone:
        url = gone.url
    with pytest.raises(RegistryUnavailable, match=r"is not reachable .*refused.*FOREBAY_SCHEMA_REGISTRY_URL"):
        SchemaRegistry(RegistrySettings(url), patience_s=0).schema(7)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_reported_without_the_password(double: RegistryDouble, status: int) -> None:
    double.answer("GET /schemas/ids/7", (status, {"message": "no"}))
    registry = client(double, username="me", password=Secret("hunter2"))
    with pytest.raises(RegistryRefused, match="check FOREBAY_SCHEMA_REGISTRY_USERNAME") as caught:
        registry.schema(7)
    assert "hunter2" not in str(caught.value)


def test_credentials_are_sent(double: RegistryDouble) -> None:
    double.answer("GET /schemas/ids/7", (200, {"schema": SCHEMA.text}))
    client(double, username="me", password=Secret("hunter2")).schema(7)
    client(double, token=Secret("t0ken")).schema(7)
    basic = base64.b64encode(b"me:hunter2").decode()
    assert [headers["Authorization"] for headers in double.headers] == [f"Basic {basic}", "Bearer t0ken"]
