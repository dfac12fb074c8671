"""The format of each type: how its values become bytes, and whether keys can have it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from forebay import formats
from forebay.builder.keys import windowed
from forebay.formats import Format, simple
from forebay.ksml.avro import avro_format
from forebay.ksml.markup import of_csv, of_xml, to_csv, to_xml
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


def _packed(name: str, layout: str) -> Format[int]:
    pack = struct.Struct(layout)
    return simple(name, int, pack.pack, lambda data: int(pack.unpack(data)[0]))


_KAFKA["short"], _KAFKA["byte"] = _packed("short", ">h"), _packed("byte", ">b")

JSON: Format[Any] = simple("JSON", object, json_bytes, msgspec.json.decode)
"""Any JSON value, as dicts and lists; one value has one text."""


class Formats:
    """The formats of definitions' types, each made once."""

    def __init__(self, schemas: SchemaFiles) -> None:
        self.schemas = schemas
        self._made: dict[Type, Format[Any]] = {}

    def of(self, kind: Type) -> Format[Any]:
        """Return a type's format. Raises UnknownType."""
        found = self._made.get(kind)
        if found is None:
            found = self._made[kind] = self._format(kind)
        return found

    def _format(self, kind: Type) -> Format[Any]:
        make = _NOTATIONS.get(kind.notation)
        if make is None:
            raise UnknownType(f"the notation {kind.notation} is not supported: convert its values to json before")
        return make(self, kind)


def _kafka(every: Formats, kind: Type) -> Format[Any]:
    if kind.kind == "windowed":
        return windowed(every.of(kind.parts[0]), 1)
    return _KAFKA.get(kind.kind, JSON)


def _json(_every: Formats, _kind: Type) -> Format[Any]:
    return JSON


def _avro(every: Formats, kind: Type) -> Format[Any]:
    if kind.kind == "windowed":
        raise UnknownType("keys with a window can't be Avro: write json:windowed(...)")
    return avro_format(kind.name, every.schemas.text(kind.name, ".avsc"))


def _xml(_every: Formats, kind: Type) -> Format[Any]:
    root = kind.name.rpartition(".")[2]
    return simple(f"XML {root}".strip(), object, _encoded(lambda value: to_xml(value, root)), _decoded(of_xml))


def _csv(every: Formats, kind: Type) -> Format[Any]:
    columns = every.schemas.columns(kind.name) if kind.name else ()
    encode, decode = _encoded(lambda value: to_csv(value, columns)), _decoded(lambda text: of_csv(text, columns))
    return simple(f"CSV {kind.name}".strip(), object, encode, decode)


def _encoded(write: Callable[[Any], str]) -> Callable[[Any], bytes]:
    return lambda value: write(value).encode()


def _decoded(read: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda data: read(data.decode())


_NOTATIONS: dict[str, Callable[[Formats, Type], Format[Any]]] = {
    "": _kafka,
    "json": _json,
    "avro": _avro,
    "confluent_avro": _avro,
    "xml": _xml,
    "csv": _csv,
}
