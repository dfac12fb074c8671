"""Registry schemas that refer to other subjects are read together with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.registry_settings import RegistrySettings
from forebay.serde import UnknownSchemaId
from forebay.serde.framing import header
from forebay.serde.generic import GenericDecoder
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.subjects import LocalSubjects, connect
from tests.kafka.registry_double import RegistryDouble, running
from tests.sql.driven import Driven


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running() as server:
        yield server


def registry(double: RegistryDouble) -> SchemaRegistry:
    return SchemaRegistry(RegistrySettings(double.url), patience_s=0)


def proto(text: str, **imports: str) -> dict[str, Any]:
    """Return the registry's answer for a Protobuf schema that imports other subjects, by file name."""
    names = [{"name": f"{name}.proto", "subject": subject, "version": 1} for name, subject in imports.items()]
    lines = "".join(f'import "{name}.proto";\n' for name in imports)
    whole = f'syntax = "proto3";\n{lines}{text}'
    return {"id": 7, "schema": whole, "schemaType": "PROTOBUF", **({"references": names} if names else {})}


def answer(double: RegistryDouble, subject: str, content: dict[str, Any]) -> None:
    double.answer(f"GET /subjects/{subject}/versions/1?deleted=true", (200, content))


ORDER = proto("message Order { Place place = 1; Money price = 2; }", place="places", money="amounts")


@pytest.fixture
def orders(double: RegistryDouble) -> RegistryDouble:
    """Return a registry with a schema of orders that imports those of places and amounts, which both import units."""
    answer(double, "places", proto("message Place { string city = 1; Unit unit = 2; }", unit="units"))
    answer(double, "amounts", proto("message Money { int64 amount = 1; Unit unit = 2; }", unit="units"))
    answer(double, "units", proto("message Unit { string name = 1; }"))
    double.answer("GET /schemas/ids/7", (200, ORDER))
    double.answer("GET /subjects/orders-value/versions/latest", (200, ORDER))
    return double


def test_a_protobuf_schema_has_the_messages_that_it_imports(orders: RegistryDouble) -> None:
    text = registry(orders).schema(7).text
    fields = message_of(text).fields_by_name
    assert [field.name for field in fields["place"].message_type.fields] == ["city", "unit"]
    assert fields["price"].message_type.fields_by_name["unit"].message_type.full_name == "Unit"
    newest = registry(orders).newest("orders-value")
    assert newest is not None
    assert newest.schema.text == text


def test_sql_reads_topics_of_such_schemas(orders: RegistryDouble) -> None:
    client = registry(orders)
    connect(client)
    try:
        driven = Driven(
            "CREATE STREAM orders WITH (KAFKA_TOPIC='orders', KEY_FORMAT='NONE', VALUE_FORMAT='PROTOBUF');\n"
            "CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT place->city AS city, price->amount + 1 AS m "
            "FROM orders;"
        )
        order = class_of(message_of(client.schema(7).text))()
        order.place.city, order.price.amount = "Delft", 4
        driven.driver.pipe_bytes(None, header(7) + b"\0" + order.SerializeToString(), 1, "orders")
    finally:
        connect(LocalSubjects())
    assert driven.driver.errors == []
    assert [output.value for output in driven.driver.outputs] == [("Delft", 5)]


PLACE = {"type": "record", "name": "Place", "namespace": "geo", "fields": [{"name": "city", "type": "string"}]}


def test_an_avro_schema_has_the_types_that_it_names(double: RegistryDouble) -> None:
    for subject, place in (("places", PLACE), ("spots", {**PLACE, "name": "Spot"})):
        answer(double, subject, {"id": 1, "schema": json.dumps(place)})
    names = ["geo.Place", "geo.Spot"]
    fields = [{"name": "from", "type": "geo.Place"}, {"name": "to", "type": ["null", "Spot"]}]
    route = {
        "type": "record",
        "name": "Route",
        "namespace": "geo",
        "fields": [*fields, {"name": "via", "type": "Place"}],
    }
    references = [
        {"name": name, "subject": subject, "version": 1}
        for name, subject in zip(names, ("places", "spots"), strict=True)
    ]
    rules = {"metadata": {"properties": {"owner": "maps"}}, "ruleSet": {"domainRules": []}}
    double.answer("GET /schemas/ids/8", (200, {"schema": json.dumps(route), "references": references, **rules}))
    client = registry(double)
    read = GenericDecoder(client).decode(header(8) + b"\x02A" + b"\x02\x02B" + b"\x02C")
    assert read == {"from": {"city": "A"}, "to": {"city": "B"}, "via": {"city": "C"}}
    double.answer("POST /subjects/routes-value?deleted=true", (200, {"id": 8}))
    assert client.holds("routes-value", 8)
    assert double.requests[-1][2] == {"schema": json.dumps(route), "references": references, **rules}


def test_a_missing_reference_is_an_error_of_the_record(double: RegistryDouble) -> None:
    double.answer("GET /schemas/ids/7", (200, ORDER))
    with pytest.raises(UnknownSchemaId, match="refers to /subjects/places/versions/1"):
        registry(double).schema(7)


def test_too_many_references_are_an_error_of_the_record(double: RegistryDouble) -> None:
    for number in range(60):
        content = proto(f"message M{number} {{}}", **{f"f{number + 1}": f"s{number + 1}"})
        answer(double, f"s{number}", content)
    double.answer("GET /schemas/ids/7", (200, proto("message M {}", f0="s0")))
    with pytest.raises(UnknownSchemaId, match="more than 50 schemas"):
        registry(double).schema(7)


def test_schemas_that_refer_to_each_other_are_no_schema(double: RegistryDouble) -> None:
    answer(double, "a", proto("message A { B b = 1; }", b="b"))
    answer(double, "b", proto("message B { A a = 1; }", a="a"))
    double.answer("GET /schemas/ids/7", (200, proto("message M { A a = 1; }", a="a")))
    with pytest.raises(ValueError, match=r"the schema imports a\.proto"):
        message_of(registry(double).schema(7).text)
