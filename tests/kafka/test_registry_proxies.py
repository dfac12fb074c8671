"""Only a rejection by the registry itself sends a record to .errors. An answer of a proxy counts as an outage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.registry_settings import RegistrySettings
from forebay.serde import RegistryUnavailable, Schema, UnknownSchemaId
from tests.kafka.registry_double import RegistryDouble, running

SCHEMA = Schema('{"type": "record", "name": "Order", "fields": []}')
ID_7 = "GET /schemas/ids/7"


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running() as server:
        yield server


def client(double: RegistryDouble, clock: Any = None) -> SchemaRegistry:
    given = {} if clock is None else {"clock": clock}
    return SchemaRegistry(RegistrySettings(double.url), patience_s=0, **given)


DOORS: dict[str, tuple[int, Any]] = {
    "an ingress without its backend": (404, "default backend - 404"),
    "nothing, under the registry's content type": (404, ""),
    "a web server's own not found": (404, {"error_code": 404, "message": "HTTP 404 Not Found"}),
    "a JSON that is not an object": (404, [40403]),
    "a code that is not a number": (404, {"error_code": "40403"}),
    "a code of another status": (404, {"error_code": 42201}),
    "bad request": (400, "bad request"),
    "not allowed": (405, {"error_code": 405, "message": "HTTP 405 Method Not Allowed"}),
    "gone": (410, "gone"),
    "a redirect": (302, ""),
    "no content": (204, ""),
    "a login page": (200, "<html>who are you?</html>"),
    "a success that says something else": (200, {"status": "up"}),
    "a schema that is not text": (200, {"schema": {"type": "record"}}),
    "another refusal than not found": (422, {"error_code": 42201, "message": "invalid"}),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_answer_of_another_server_is_an_outage(double: RegistryDouble, door: str) -> None:
    double.answer(ID_7, DOORS[door])
    registry = client(double)
    with pytest.raises(RegistryUnavailable, match=r"does not answer as a schema registry does: HTTP \d+ .*ids/7"):
        registry.schema(7)
    double.answer(ID_7, (200, {"schema": SCHEMA.text}))
    assert registry.schema(7) == SCHEMA


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_a_rejection_by_the_registry_itself_is_an_unknown_schema_id(double: RegistryDouble, code: int) -> None:
    double.answer(ID_7, (404, {"error_code": code, "message": "Schema not found"}))
    with pytest.raises(UnknownSchemaId):
        client(double).schema(7)


@pytest.mark.parametrize("door", [(404, "default backend"), (302, ""), (200, "<html>"), (200, {})])
def test_a_contract_is_not_taken_for_registered(double: RegistryDouble, door: tuple[int, Any]) -> None:
    double.answer("POST /subjects/orders-value", door)
    with pytest.raises(RegistryUnavailable, match="does not answer as a schema registry does"):
        client(double).register("orders-value", SCHEMA)


def test_a_flood_of_unknown_ids_costs_one_request_for_each(double: RegistryDouble) -> None:
    """A round of 200 ids takes longer than the time for which a few unknown ids would be cached."""
    now = [0.0]
    registry = client(double, lambda: now[0])
    for _ in range(3):
        for schema_id in range(200):
            now[0] += 0.1
            with pytest.raises(UnknownSchemaId):
                registry.schema(schema_id)
    assert len(double.requests) == 200


def test_after_a_flood_an_id_that_was_registered_meanwhile_is_found(double: RegistryDouble) -> None:
    now = [0.0]
    registry = client(double, lambda: now[0])
    for schema_id in range(200):
        with pytest.raises(UnknownSchemaId):
            registry.schema(schema_id)
    double.answer(ID_7, (200, {"schema": SCHEMA.text}))
    now[0] = 301.0
    assert registry.schema(7) == SCHEMA
