"""The notations of KSML: Avro keys, JSON Schema, Protobuf, and schemas from a registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forebay.codec import EncodeError
from forebay.formats import no_contracts
from forebay.ksml.compile import definitions
from forebay.ksml.definition import definition_of
from forebay.ksml.driver import KsmlDriver
from forebay.ksml.errors import KsmlError
from forebay.ksml.formats import Formats
from forebay.ksml.mounting import mount
from forebay.ksml.schemas import NoRegistry, SchemaFiles
from forebay.ksml.types import parse_type

PLACE = {
    "type": "record",
    "name": "Place",
    "namespace": "test",
    "fields": [{"name": "city", "type": "string"}, {"name": "zone", "type": ["null", "string"], "default": None}],
}
PRICE = {
    "type": "record",
    "name": "Price",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
    ],
}
READING = {
    "title": "Reading",
    "type": "object",
    "properties": {
        "value": {"type": ["number", "null"]},
        "unit": {"enum": ["C", "F"]},
        "tags": {"items": {"type": "string"}},
    },
    "required": ["value"],
}
PROTO = """
syntax = "proto3";  // the newer language
package test.readings;
enum Level { LOW = 0; HIGH = 5; }
message Ignored { reserved 2, 3; option deprecated = true; }
message Reading {
  message Part { sint32 number = 1; }
  string name = 1;
  optional int64 at = 2 [deprecated = true];
  Level level = 3;
  repeated Part parts = 4;
  map<string, double> figures = 5;
  oneof source { string sensor = 6; bytes raw = 7; }
  /* not set: not in the struct */
  Part main = 8;
}
"""


class Known(NoRegistry):
    """A registry with one schema, which records the registrations of others."""

    def __init__(self) -> None:
        super().__init__()
        self.registered: list[tuple[str, str]] = []

    def latest(self, subject: str) -> str:
        return json.dumps(PRICE) if subject == "prices-value" else super().latest(subject)

    def id_of(self, subject: str, text: str, kind: str) -> int:
        self.registered.append((subject, kind))
        return 7


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    for name, schema in (("Place", PLACE), ("Price", PRICE)):
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    (tmp_path / "Reading.json").write_text(json.dumps(READING))
    (tmp_path / "Reading.proto").write_text(PROTO)
    return tmp_path


def run(text: str, schemas: Path, registry: Known | None = None) -> KsmlDriver:
    return KsmlDriver(definitions([definition_of(text, "test.yaml")], SchemaFiles([schemas], registry)))


def both_ways(kind: str, value: Any, schemas: Path) -> Any:
    codec = Formats(SchemaFiles([schemas])).of(parse_type(kind)).codec(no_contracts)
    return codec.decode(codec.encode(value))


KEYED = """
streams:
  visits: {topic: visits, keyType: avro:Place, valueType: json}
  counts: {topic: counts, keyType: avro:Place, valueType: long}
  windows: {topic: windows, keyType: "avro:windowed(Place)", valueType: long}
pipelines:
  all:
    from: visits
    via:
      - type: transformKey
        mapper:
          expression: "{**key, 'zone': None}"
          resultType: avro:Place
      - type: groupByKey
      - type: count
    to: counts
  each:
    from: visits
    via:
      - type: groupByKey
      - {type: windowByTime, windowType: tumbling, duration: 10s}
      - type: count
      - type: toStream
    to: windows
"""


def test_keys_are_avro_under_the_registry_s_id(schemas: Path) -> None:
    registry = Known()
    driver = run(KEYED, schemas, registry)
    for zone in ("a", "b"):
        driver.pipe({"city": "Delft", "zone": zone}, {}, "visits", 12_000)
    counts = [sent for sent in driver.sent if sent.topic == "counts"]
    assert [(sent.key["zone"], sent.value) for sent in counts] == [(None, 1), (None, 2)]
    assert {"@type": "Place", "city": "Delft", "zone": None}.items() <= counts[0].key.items()
    windows = [sent for sent in driver.sent if sent.topic == "windows"]
    assert [(sent.key["key"]["zone"], sent.key["start"], sent.value) for sent in windows] == [
        ("a", 10_000, 1),
        ("b", 10_000, 1),
    ]
    assert windows[0].key["startTime"] == "1970-01-01T00:00:10Z"
    assert set(registry.registered) == {("visits-key", "AVRO"), ("counts-key", "AVRO"), ("windows-key", "AVRO")}


def test_a_key_of_another_schema_goes_to_errors(schemas: Path) -> None:
    driver = run(KEYED, schemas, Known())
    driver.driver.pipe_bytes(b"\0\0\0\0\x08\x0aDelft\0", b"{}", 0, "visits")
    assert "not with 7" in driver.driver.errors[0].headers["error.message"]


def test_a_decimal_is_text(schemas: Path) -> None:
    result = both_ways("avro:Price", {"at": 1, "sum": "12.5"}, schemas)
    assert (result["at"], result["sum"]) == (1, "12.50")
    for wrong, reason in (
        (1.5, "return the decimal as text"),
        ("much", "is not a decimal"),
        ("1.234", "does not fit into"),
    ):
        with pytest.raises(EncodeError, match=reason):
            both_ways("avro:Price", {"at": 1, "sum": wrong}, schemas)


def test_a_type_without_a_name_is_the_latest_schema_of_its_topic(schemas: Path) -> None:
    text = """
streams:
  prices: {topic: prices, keyType: string, valueType: confluent_avro}
pipelines:
  main:
    from: prices
    via: [{type: transformValue, mapper: {expression: "value['sum']", resultType: string}}]
    to: {topic: out, keyType: string, valueType: string}
"""
    driver = run(text, schemas, Known())
    driver.pipe("a", {"at": 1, "sum": "12.50"}, "prices")
    assert [sent.value for sent in driver.sent] == ["12.50"]
    with pytest.raises(KsmlError, match=r"test.yaml:3: the schema of prices-value is the registry's"):
        run(text, schemas)


def test_json_is_converted_to_its_schema(schemas: Path) -> None:
    assert both_ways("jsonschema:Reading", {"value": "2.5", "unit": "C", "tags": [1]}, schemas) == {
        "value": 2.5,
        "unit": "C",
        "tags": ["1"],
    }
    with pytest.raises(EncodeError, match=r"does not fit the schema Reading: \$.unit"):
        both_ways("jsonschema:Reading", {"value": 1, "unit": "K"}, schemas)


def test_protobuf_is_a_struct(schemas: Path) -> None:
    value = {
        "name": "one",
        "at": "12",
        "level": "HIGH",
        "parts": [{"number": -3}],
        "figures": {"mean": 1.5},
        "raw": b"\xff",
    }
    result = both_ways("protobuf:Reading", value, schemas)
    assert result.pop("@type") == "Reading"
    assert result.pop("@schema") == ""
    assert result == {**value, "at": 12}
    with pytest.raises(EncodeError, match="does not fit the schema Reading"):
        both_ways("confluent_protobuf:Reading", {"nme": "one"}, schemas)


@pytest.mark.parametrize(
    ("proto", "reason"),
    [
        ("message A { string a = 1; ", "the .proto text ends too early: close its braces"),
        ('import "other.proto";', "the schema imports other.proto: write its messages into the schema itself"),
        ("message A { Gone a = 1; }", "the schema is inconsistent: .*Gone"),
        ("message A { string a = one; }", "'one' is not a number of a field"),
        ("enum E { A = 0; }", "has no message"),
    ],
)
def test_a_proto_that_can_t_be_read_is_refused(proto: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "Bad.proto").write_text(proto)
    text = "streams:\n  a: {topic: a, keyType: string, valueType: protobuf:Bad}\npipelines:\n  main: {from: a}\n"
    with pytest.raises(KsmlError, match=f"^test.yaml:2: .*{reason}"):
        run(text, tmp_path)


def test_schemas_are_collected_from_all_folders(schemas: Path, tmp_path: Path) -> None:
    folder = tmp_path / "definitions"
    folder.mkdir()
    text = """
streams:
  visits: {topic: visits, keyType: string, valueType: avro:Where}
  prices: {topic: prices, keyType: string, valueType: avro:Price}
pipelines:
  one: {from: visits, forEach: {code: pass}}
  two: {from: prices, forEach: {code: pass}}
"""
    (folder / "all.yaml").write_text(text)
    (folder / "Where.avsc").write_text(json.dumps(PLACE))
    (schemas / "Place.avsc").unlink()
    path = Path(mount("all", [folder / "all.yaml"], [schemas]).service.contracts)
    assert {file.name for file in path.iterdir()} == {"Place.avsc", "Price.avsc"}
    assert path.stat().st_mode & 0o077 == 0
