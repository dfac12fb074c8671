"""Types of definitions: `string`, `json`, `avro:Name`, `list(int)`, `windowed(string)`."""

from __future__ import annotations

from typing import NamedTuple

SCALARS = {
    "boolean": "boolean",
    "byte": "byte",
    "short": "short",
    "int": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
    "str": "string",
    "null": "null",
    "none": "null",
    "any": "any",
    "?": "any",
    "struct": "struct",
    "map": "map",
}
SCHEMALESS = ("json", "xml", "csv", "soap", "binary")
REGISTERED = ("avro", "jsonschema", "protobuf")
"""Notations with schemas in a registry. Without a name, it is the latest schema of the topic's subject."""
WITH_SCHEMA = (*REGISTERED, "xml", "csv")
"""Notations that can be followed by a colon and the name of a schema."""
_VENDORS = {f"{vendor}_{notation}": notation for vendor in ("confluent", "apicurio") for notation in REGISTERED}
"""Aliases of notations with the same bytes: a zero byte, four bytes of the schema's id, and the value."""
_COMPOSED = ("list", "enum", "map", "union", "windowed", "tuple")


class Type(NamedTuple):
    """A type of a definition.

    Args:
        kind: a scalar's name, or any, struct, map, list, tuple, union, enum, windowed.
        notation: encoding: json, avro, xml, csv, ...; "" for Kafka's own serializers.
        parts: types of its items or members.
        name: name of its schema.
        symbols: symbols of an enum.
    """

    kind: str
    notation: str = ""
    parts: tuple[Type, ...] = ()
    name: str = ""
    symbols: tuple[str, ...] = ()

    def __str__(self) -> str:
        own = self.name or (self.kind if self.kind != "any" or not self.notation else "")
        inner = ", ".join(self.symbols or map(str, self.parts))
        text = f"{own}({inner})" if inner else own
        return f"{self.notation}:{text}" if self.notation and text else self.notation or text


ANY = Type("any")
STRING = Type("string")
LONG = Type("long")
BOOLEAN = Type("boolean")
NULL = Type("null")
JSON = Type("any", "json")


class UnknownType(ValueError):
    """A text is not a type. The message contains the remedy."""


def parse_type(text: str, notation: str = "") -> Type:
    """Return the type of a text. Raises UnknownType."""
    wanted = text.strip()
    if not wanted:
        return ANY
    wanted = _VENDORS.get(wanted, wanted)
    head, colon, rest = wanted.partition(":")
    if colon and not any(bracket in head for bracket in "(["):
        return _of_notation(head.strip(), rest.strip())
    if wanted.startswith("[") and wanted.endswith("]"):
        return Type("list", notation, (parse_type(wanted[1:-1], notation),))
    if wanted.startswith("(") and wanted.endswith(")"):
        return Type("tuple", notation, _parts(wanted[1:-1], notation))
    if wanted.endswith(")") and "(" in wanted:
        return _parse_composed(wanted, notation)
    if wanted in SCALARS:
        return Type(SCALARS[wanted], notation)
    if wanted in SCHEMALESS:
        return Type("any", "" if wanted == "binary" else wanted)
    if wanted in REGISTERED:
        return Type("struct", wanted)
    if notation in WITH_SCHEMA:
        return Type("struct", notation, name=wanted)
    known = ", ".join((*SCALARS, *SCHEMALESS, "avro:Name", "list(...)", "map(...)", "tuple(...)", "windowed(...)"))
    raise UnknownType(f"{wanted!r} is not a type: write one of {known}")


def _of_notation(notation: str, rest: str) -> Type:
    notation = _VENDORS.get(notation, notation)
    if notation not in (*SCHEMALESS, *WITH_SCHEMA):
        known = ", ".join(dict.fromkeys((*SCHEMALESS, *WITH_SCHEMA)))
        raise UnknownType(f"{notation!r} is not a notation: write one of {known}")
    own = "" if notation == "binary" else notation
    if not rest:
        return parse_type(notation)
    if rest.startswith("windowed("):
        return Type("windowed", own, (parse_type(rest[9:-1], own),))
    if notation in WITH_SCHEMA:
        return Type("struct", own, name=rest)
    return parse_type(rest, own)


def _parse_composed(text: str, notation: str) -> Type:
    kind, _, inner = text[:-1].partition("(")
    if kind not in _COMPOSED:
        raise UnknownType(
            f"{kind}(...) is not a type: write one of {', '.join(f'{type_name}(...)' for type_name in _COMPOSED)}"
        )
    if kind == "enum":
        return Type("enum", notation, symbols=tuple(symbol.strip().strip("\"'") for symbol in inner.split(",")))
    parts = _parts(inner, notation)
    if kind in ("list", "map", "windowed") and len(parts) != 1:
        raise UnknownType(f"{kind}(...) is made of one type: write {kind}(string), for example")
    return Type(kind, notation, parts)


def _parts(inner: str, notation: str) -> tuple[Type, ...]:
    parts, depth, begun = [], 0, 0
    for at, letter in enumerate(inner):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(inner[begun:at])
            begun = at + 1
    return tuple(parse_type(part, notation) for part in (*parts, inner[begun:]))
