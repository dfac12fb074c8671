"""Only schemas of an input's own subject are accepted. A schema id of another subject is an error of that record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.registry_settings import RegistrySettings, SchemaIds
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.subject_schemas import SubjectSchemas
from forebay.serde import RegistryUnavailable, UnknownSchemaId
from tests.kafka.registry_double import RegistryDouble, running

TEXT = '{"type": "record", "name": "Order", "fields": []}'
LOOKUP = "POST /subjects/orders-value?deleted=true"
UNKNOWN = (404, {"error_code": 40403, "message": "Schema not found"})


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running() as server:
        server.answer("GET /schemas/ids/7", (200, {"schema": TEXT}))
        yield server


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def of_orders(double: RegistryDouble, clock: Clock | None = None) -> SubjectSchemas:
    registry = SchemaRegistry(RegistrySettings(double.url), patience_s=0, clock=clock or Clock())
    return SubjectSchemas(registry, "orders-value")


def test_a_schema_of_the_subject_is_returned_and_requested_once(double: RegistryDouble) -> None:
    double.answer(LOOKUP, (200, {"id": 7, "version": 1}))
    schemas = of_orders(double)
    assert schemas.schema(7).text == TEXT
    assert schemas.schema(7).text == TEXT
    assert [f"{method} {path}" for method, path, _ in double.requests] == ["GET /schemas/ids/7", LOOKUP]


@pytest.mark.parametrize("kind", ["PROTOBUF", "JSON"])
def test_a_schema_of_another_kind_is_looked_up_as_one(kind: str, double: RegistryDouble) -> None:
    """Without the schema type in the request, the registry would parse the schema as Avro and reject it."""
    double.answer("GET /schemas/ids/8", (200, {"schema": "text", "schemaType": kind}))
    double.answer(LOOKUP, (200, {"id": 8, "version": 1}))
    assert of_orders(double).schema(8).text == "text"
    assert double.requests[-1] == (*LOOKUP.split(), {"schema": "text", "schemaType": kind})


def test_a_schema_of_another_subject_is_refused_with_the_remedy(double: RegistryDouble) -> None:
    double.answer(LOOKUP, UNKNOWN)
    schemas = of_orders(double)
    for _ in range(3):
        with pytest.raises(UnknownSchemaId, match=r"7 is not of the subject orders-value.*REGISTRY_IDS=any"):
            schemas.schema(7)
    assert len(double.requests) == 2


def test_a_subject_has_every_schema_if_any_id_is_accepted(double: RegistryDouble) -> None:
    double.answer("GET /schemas/ids/8", (404, {"error_code": 40403, "message": "Schema not found"}))
    settings = KafkaSettings(
        bootstrap_servers="b:1", schema_registry_url=double.url, schema_registry_ids=SchemaIds.ANY
    ).registry()
    registry = SchemaRegistry(settings, patience_s=0)
    assert registry.holds("orders-value", 7)
    with pytest.raises(UnknownSchemaId):
        registry.holds("orders-value", 8)
    assert [f"{method} {path}" for method, path, _ in double.requests] == ["GET /schemas/ids/7", "GET /schemas/ids/8"]


def test_a_schema_registered_later_is_read_after_a_while(double: RegistryDouble) -> None:
    double.answer(LOOKUP, UNKNOWN, (200, {"id": 7, "version": 1}))
    clock = Clock()
    schemas = of_orders(double, clock)
    with pytest.raises(UnknownSchemaId):
        schemas.schema(7)
    clock.now += 11
    assert schemas.schema(7).text == TEXT


def test_a_registry_that_fails_does_not_make_a_schema_foreign(double: RegistryDouble) -> None:
    double.answer(LOOKUP, (503, {}), (200, {"id": 7, "version": 1}))
    schemas = of_orders(double)
    with pytest.raises(RegistryUnavailable):
        schemas.schema(7)
    assert schemas.schema(7).text == TEXT
