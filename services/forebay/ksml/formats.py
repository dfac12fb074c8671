"""The formats of types, which encode values, and keys if the type allows them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from forebay import formats
from forebay.builder.keys import windowed_format
from forebay.formats import Format, simple
from forebay.formats.identities import by_name, by_place
from forebay.ksml.avro import avro_format, record_of, windowed_schema
from forebay.ksml.json_schemas import json_schema_format
from forebay.ksml.markup import of_csv, of_xml, to_csv, to_xml
from forebay.ksml.protobufs import protobuf_format
from forebay.ksml.schemas import SchemaFiles
from forebay.ksml.types import Type, UnknownType
from forebay.ksml.values import json_bytes

_KAFKA: dict[str, Format[Any]] = {
    "string": formats.TEXT,
    "enum": formats.TEXT,
    "bytes": formats.BYTES,
    "int": formats.INT,
    "long": formats.LONG,
    "float": formats.FLOAT,
    "double": formats.DOUBLE,
    "boolean": formats.BOOLEAN,
}


def _pack(name: str, layout: str) -> Format[int]:
    pack = struct.Struct(layout)
    return simple(name, int, pack.pack, lambda data: int(pack.unpack(data)[0]), identity=name)


_KAFKA["short"], _KAFKA["byte"] = _pack("short", ">h"), _pack("byte", ">b")

JSON: Format[Any] = replace(
    simple("JSON", object, json_bytes, msgspec.json.decode),
    wire=formats.JSON_WIRE,
    takes=lambda wire: wire in (formats.JSON_WIRE, formats.TEXT_WIRE),
    identify=lambda: by_name("JSON"),
)
"""Any JSON value, as dicts and lists. Equal values have equal texts."""


class Formats:
    """A cache of the formats of the definitions' types.

    Args:
        subjects: subjects of a registry by the type of a topic's keys, or of its values unless they are Avro.

    Attributes:
        contracts: texts of the Avro schemas that were used, by name of their record.
    """

    def __init__(self, schemas: SchemaFiles, subjects: Mapping[Type, tuple[str, ...]] = MappingProxyType({})) -> None:
        self.schemas = schemas
        self.contracts: dict[str, str] = {}
        self._subjects = subjects
        self._made: dict[Type, Format[Any]] = {}

    def of(self, kind: Type) -> Format[Any]:
        """Return a type's format. Raises UnknownType."""
        format_ = self._made.get(kind)
        if format_ is None:
            format_ = self._made[kind] = self._format(kind)
        return format_

    def keep(self, text: str, name: str) -> str:
        """Register an Avro schema as used, and return its text. Raises UnknownType if another schema has its name."""
        record = record_of(name, text).name.rpartition(".")[2]
        if self.contracts.setdefault(record, text) != text:
            raise UnknownType(f"two schemas have the name {record}, and differ: give one of them another name")
        return text

    def id_of(self, kind: Type, text: str, language: str, name: str) -> int:
        """Return the id of a schema in the registry, registered for all topics of the type. Raises UnknownType.

        Args:
            name: the subject if no topic has the type.
        """
        # Register under every subject. A schema has the same id under all of them, so any of the results will do.
        return [self.schemas.registry.id_of(subject, text, language) for subject in self.subjects(kind, name)][-1]

    def subjects(self, kind: Type, name: str) -> tuple[str, ...]:
        """Return the subjects of a type's schema; the subject `name` if no topic has the type."""
        return self._subjects.get(kind) or (name,)

    def _format(self, kind: Type) -> Format[Any]:
        make = _NOTATIONS.get(kind.notation)
        if make is None:
            raise UnknownType(f"the notation {kind.notation} is not supported: convert its values to json before")
        return make(self, kind)


def _kafka(every: Formats, kind: Type) -> Format[Any]:
    if kind.kind == "windowed":
        return windowed_format(every.of(kind.parts[0]), 1)
    return _KAFKA.get(kind.kind, JSON)


def _json(_every: Formats, _kind: Type) -> Format[Any]:
    return JSON


def _avro(every: Formats, kind: Type) -> Format[Any]:
    if kind.kind == "windowed":
        (key,) = kind.parts
        text = windowed_schema(key, _schema(every, key, ".avsc") if key.kind == "struct" else "")
    else:
        text = _schema(every, kind, ".avsc")
    name = str(kind).partition(":")[2]
    every.keep(text, name)
    return avro_format(name, text, cache(lambda: every.id_of(kind, text, "AVRO", record_of(name, text).name)))


def _schema(every: Formats, kind: Type, suffix: str) -> str:
    if not kind.name:
        raise UnknownType(
            f"{kind.notation} without a name is the schema of a topic, and there is none here: write "
            f"{kind.notation}:NameOfTheSchema"
        )
    return every.schemas.text(kind.name, suffix)


def _json_schema(every: Formats, kind: Type) -> Format[Any]:
    text = _schema(every, kind, ".json")
    return json_schema_format(kind.name, text, every.id_of(kind, text, "JSON", kind.name), JSON)


def _xml(_every: Formats, kind: Type) -> Format[Any]:
    root = kind.name.rpartition(".")[2]
    format_ = simple(f"XML {root}".strip(), object, _encoder(lambda value: to_xml(value, root)), _decoder(of_xml))
    return replace(format_, wire=formats.MARKUP_WIRE, identify=lambda: by_name("XML"))


def _csv(every: Formats, kind: Type) -> Format[Any]:
    columns = every.schemas.columns(kind.name) if kind.name else ()
    encode, decode = _encoder(lambda value: to_csv(value, columns)), _decoder(lambda text: of_csv(text, columns))
    format_ = simple(f"CSV {kind.name}".strip(), object, encode, decode)
    return replace(
        format_,
        wire=formats.MARKUP_WIRE,
        identify=lambda: by_place("CSV", [(column, None) for column in columns]),
    )


def _protobuf(every: Formats, kind: Type) -> Format[Any]:
    text = _schema(every, kind, ".proto")
    schema_id, registry = every.id_of(kind, text, "PROTOBUF", kind.name), every.schemas.registry

    def owns(number: int) -> bool:
        return any(registry.holds(subject, number) for subject in every.subjects(kind, kind.name))

    return protobuf_format(kind.name.rpartition(".")[2], text, schema_id, registry.text_of, owns)


def _encoder(write: Callable[[Any], str]) -> Callable[[Any], bytes]:
    return lambda value: write(value).encode()


def _decoder(read: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda data: read(data.decode())


_NOTATIONS: dict[str, Callable[[Formats, Type], Format[Any]]] = {
    "": _kafka,
    "json": _json,
    "avro": _avro,
    "jsonschema": _json_schema,
    "protobuf": _protobuf,
    "xml": _xml,
    "csv": _csv,
}
