"""Protocol Buffers' `.proto` texts as message classes, without a compiler: proto2 and proto3, messages and enums."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from forebay.ksml.types import UnknownType

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[\w.+-]+|[{}\[\]()<>;=,:]')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
}
_LABELS = {
    "optional": _Field.LABEL_OPTIONAL,
    "required": _Field.LABEL_REQUIRED,
    "repeated": _Field.LABEL_REPEATED,
}


def message_class(text: str, name: str) -> type[Any]:
    """Return the class of a message of a `.proto` text: the one of that name, or its first.

    Raises:
        UnknownType: it can't be read, has no message, or imports another file.
    """
    file = _Parser(text, name).read()
    if not file.message_type:
        raise UnknownType(f"the schema {name}.proto has no message: write one")
    pool = descriptor_pool.DescriptorPool()
    try:
        pool.Add(file)
        wanted = next((each.name for each in file.message_type if each.name == name), file.message_type[0].name)
        found = pool.FindMessageTypeByName(f"{file.package}.{wanted}".strip("."))
    except (TypeError, KeyError) as error:
        raise UnknownType(f"the schema {name}.proto can't be used: {error}") from error
    made: type[Any] = message_factory.GetMessageClass(found)
    return made


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._tokens: list[str] = _TOKEN.findall(_COMMENT.sub(" ", text))
        self._at = 0

    def read(self) -> descriptor_pb2.FileDescriptorProto:
        file = descriptor_pb2.FileDescriptorProto(name=f"{self._name}.proto", syntax="proto2")
        while self._at < len(self._tokens):
            match self._next():
                case "syntax":
                    self._expect("=")
                    file.syntax = self._next().strip("\"'")
                    self._expect(";")
                case "package":
                    file.package = self._next()
                    self._expect(";")
                case "message":
                    self._message(file.message_type.add(), file.syntax)
                case "enum":
                    self._enum(file.enum_type.add())
                case "option":
                    self._skip()
                case ";":
                    pass
                case word:
                    raise self._refused(f"{word} is not supported: write messages and enums into one file")
        for message in file.message_type:
            _resolve(message, [file.package], file)
        return file

    def _message(self, made: Any, syntax: str) -> None:
        made.name = self._next()
        self._expect("{")
        while (word := self._next()) != "}":
            match word:
                case "message":
                    self._message(made.nested_type.add(), syntax)
                case "enum":
                    self._enum(made.enum_type.add())
                case "oneof":
                    self._oneof(made)
                case "option" | "reserved" | "extensions":
                    self._skip()
                case ";":
                    pass
                case _:
                    self._field(made, word, syntax)
        # What `optional` of proto3 stands for comes behind all that is written as oneof.
        for field in made.field:
            if field.proto3_optional:
                field.oneof_index = len(made.oneof_decl)
                made.oneof_decl.add(name=f"_{field.name}")

    def _oneof(self, made: Any) -> None:
        made.oneof_decl.add(name=self._next())
        number = len(made.oneof_decl) - 1
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "option":
                self._skip()
            else:
                self._field(made, word, "").oneof_index = number

    def _field(self, made: Any, word: str, syntax: str) -> Any:
        field = made.field.add(label=_LABELS.get(word, _Field.LABEL_OPTIONAL))
        field.proto3_optional = word == "optional" and syntax == "proto3"
        kind = self._next() if word in _LABELS else word
        if kind == "map":
            self._map(made, field)
        else:
            _typed(field, kind)
            field.name = self._next()
        self._expect("=")
        field.number = self._number()
        if (end := self._next()) == "[":
            while end != "]":
                end = self._next()
            end = self._next()
        if end != ";":
            raise self._refused(f"{end} stands where ; should end the field {field.name}")
        return field

    def _map(self, made: Any, field: Any) -> None:
        self._expect("<")
        key = self._next()
        self._expect(",")
        value = self._next()
        self._expect(">")
        field.name = self._next()
        entry = made.nested_type.add(name=f"{''.join(part.capitalize() for part in field.name.split('_'))}Entry")
        entry.options.map_entry = True
        _typed(entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL), key)
        _typed(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), value)
        field.label, field.type, field.type_name = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE, entry.name

    def _enum(self, made: Any) -> None:
        made.name = self._next()
        self._expect("{")
        while (word := self._next()) != "}":
            if word in ("option", "reserved"):
                self._skip()
            elif word != ";":
                self._expect("=")
                made.value.add(name=word, number=self._number())
                self._skip()

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._refused("it ends within a definition: close its braces")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, token: str) -> None:
        if (found := self._next()) != token:
            raise self._refused(f"{found} stands where {token} should")

    def _number(self) -> int:
        found = self._next()
        try:
            return int(found, 0)
        except ValueError as error:
            raise self._refused(f"{found} stands where a number should") from error

    def _skip(self) -> None:
        while self._next() != ";":
            pass

    def _refused(self, why: str) -> UnknownType:
        return UnknownType(f"the schema {self._name}.proto can't be read: {why}")


def _typed(field: Any, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind


def _resolve(message: Any, scope: list[str], file: Any) -> None:
    """Give the types that fields name their full names, looked for from the inside out."""
    inside = [*scope, message.name]
    for nested in message.nested_type:
        _resolve(nested, inside, file)
    for field in message.field:
        if field.type_name and not field.type_name.startswith("."):
            field.type_name, is_enum = _found(field.type_name, inside, file)
            field.type = _Field.TYPE_ENUM if is_enum else _Field.TYPE_MESSAGE


def _found(name: str, inside: list[str], file: Any) -> tuple[str, bool]:
    known = dict(_names(file, [file.package]))
    for depth in range(len(inside), -1, -1):
        full = ".".join(part for part in (*inside[:depth], name) if part)
        if full in known:
            return f".{full}", known[full]
    raise UnknownType(f"the schema {file.name} has no type {name}: define it there")


def _names(holder: Any, scope: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield the full name of every type, and whether it is an enum."""
    prefix = [part for part in scope if part]
    yield from ((".".join((*prefix, each.name)), True) for each in holder.enum_type)
    for each in holder.message_type if hasattr(holder, "message_type") else holder.nested_type:
        yield ".".join((*prefix, each.name)), False
        yield from _names(each, [*prefix, each.name])
