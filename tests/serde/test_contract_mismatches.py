"""A dataclass that does not fit its contract is rejected before the first record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from forebay.records import FrozenMap
from forebay.serde import AvroCodec, ContractMismatch, LocalSchemas
from tests.serde.everything import codec_of, schema


@dataclass(frozen=True, slots=True)
class Place:
    city: str


def mismatch(hint: object, avro: object) -> str:
    record_type: Any = dataclass(frozen=True, slots=True)(type("Record", (), {"__annotations__": {"value": hint}}))
    with pytest.raises(ContractMismatch) as caught:
        codec_of(record_type, {"type": "record", "name": "Record", "fields": [{"name": "value", "type": avro}]})
    return str(caught.value)


PLACE = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}


@pytest.mark.parametrize(
    ("hint", "avro", "says"),
    [
        (int, "string", "the dataclass has the type int, the contract has the type string"),
        (str, "long", "the dataclass has the type str, the contract has the type long"),
        (float, "long", "the dataclass has the type float, the contract has the type long"),
        (int, "double", "the dataclass has the type int, the contract has the type double"),
        (str, ["null", "string"], "the dataclass has the type str, the contract has the type null | string"),
        (str | None, "string", "the dataclass has the type str | None, the contract has the type string"),
        (str | None, ["null", "long"], "the contract allows long, for which str | None has no type of its own"),
        (str | int | None, ["null", "string"], "the dataclass allows int, the contract does not"),
        (int | None, ["null", "int", "long"], "the contract allows long, for which int | None has no type of its own"),
        (tuple[str, ...], "string", "the contract has the type string"),
        (tuple[str, str], {"type": "array", "items": "string"}, "the contract has the type array of string"),
        (tuple[str, ...], {"type": "array", "items": "long"}, "Record.value[] does not fit"),
        (FrozenMap[str, int], {"type": "map", "values": "string"}, "Record.value{} does not fit"),
        (FrozenMap[int, int], {"type": "map", "values": "long"}, "the contract has the type map of long"),
        (Place, "string", "the dataclass has the type Place, the contract has the type string"),
        (bytes, {"type": "fixed", "name": "Hash", "size": 4}, "the contract has the type Hash"),
        (Place, {**PLACE, "fields": [{"name": "city", "type": "long"}]}, "Record.value.city does not fit"),
    ],
)
def test_types_that_differ(hint: object, avro: object, says: str) -> None:
    message = mismatch(hint, avro)
    assert says in message
    assert message.endswith("; change the dataclass or the contract")


def test_fields_that_only_one_has() -> None:
    renamed = {**PLACE, "fields": [{"name": "town", "type": "string"}]}
    assert "Record.value does not fit the contract Record: only Place has city, only Place has town" in mismatch(
        Place, renamed
    )


def test_a_contract_that_is_no_record() -> None:
    with pytest.raises(ContractMismatch, match="the contract of Place is string, not a record"):
        codec_of(Place, "string")


def test_a_record_type_that_could_be_changed() -> None:
    @dataclass
    class Changing:
        city: str

    schemas = LocalSchemas()
    with pytest.raises(TypeError, match="Changing must be a frozen dataclass"):
        AvroCodec(Changing, schemas.register(schema(PLACE)), schemas)


def test_types_that_agree() -> None:
    codec = codec_of(Place, PLACE)
    assert codec.decode(codec.encode(Place("Utrecht"))) == Place("Utrecht")
