"""Parser from `.proto` texts (proto3, and the same constructs in proto2) to descriptors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\s+|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\w.\-+]+|[{}\[\]<>=;:,()])""", re.DOTALL
)
_SCALARS = {name.removeprefix("TYPE_").lower(): number for name, number in FieldDescriptorProto.Type.items()}
_LABELS = {"optional", "repeated", "required"}
_SKIPPED = {"option", "reserved", "extensions", "extend", "service"}


class WrongProto(ValueError):
    """The text is not valid in the language of Protocol Buffers."""


def file_of(text: str, name: str) -> FileDescriptorProto:
    """Return the descriptor of a file without resolving types. Raise WrongProto if the text is invalid."""
    return _Parser(text).file(name)


def _words(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise WrongProto(f"{text[at : at + 20]!r} is not allowed in a .proto file")
        at = match.end()
        if match[1] is not None:
            yield match[1]


class _Parser:
    def __init__(self, text: str) -> None:
        self._words = [*_words(text), ""]
        self._at = 0
        self._is_proto3 = False

    def file(self, name: str) -> FileDescriptorProto:
        file = FileDescriptorProto(name=name)
        while self._next:
            match word := self._take():
                case "syntax":
                    self._expect("=")
                    file.syntax = self._take().strip("\"'")
                    self._is_proto3 = file.syntax == "proto3"
                    self._expect(";")
                case "package":
                    file.package = self._take()
                    self._expect(";")
                case "import":
                    while self._next in ("public", "weak"):
                        self._take()
                    file.dependency.append(self._take().strip("\"'"))
                    self._expect(";")
                case "message":
                    self._message(file.message_type.add())
                case "enum":
                    self._enum(file.enum_type.add())
                case ";":
                    continue
                case _ if word in _SKIPPED:
                    self._skip()
                case _:
                    raise WrongProto(f"{word!r} can't begin a definition of a .proto file")
        return file

    @property
    def _next(self) -> str:
        return self._words[self._at]

    def _take(self) -> str:
        word = self._words[self._at]
        if not word:
            raise WrongProto("the .proto text ends too early: close its braces")
        self._at += 1
        return word

    def _expect(self, word: str) -> None:
        taken = self._take()
        if taken != word:
            raise WrongProto(f"{taken!r} is where {word!r} belongs in a .proto file")

    def _number(self) -> int:
        word = self._take()
        try:
            return int(word, 0)
        except ValueError as error:
            raise WrongProto(f"{word!r} is not a number of a field") from error

    def _skip(self) -> None:
        """Skip a statement or its block."""
        depth = 0
        while True:
            word = self._take()
            depth += (word == "{") - (word == "}")
            if depth == 0 and word in (";", "}"):
                return

    def _message(self, made: DescriptorProto) -> None:
        made.name = self._take()
        self._expect("{")
        while (word := self._take()) != "}":
            match word:
                case "message":
                    self._message(made.nested_type.add())
                case "enum":
                    self._enum(made.enum_type.add())
                case "oneof":
                    self._oneof(made)
                case "map" if self._next == "<":
                    self._map(made)
                case ";":
                    continue
                case _ if word in _SKIPPED:
                    self._skip()
                case _:
                    self._field(made, word)
        # The choices of optional fields come after the real choices, in protoc's order.
        for field in made.field:
            if field.proto3_optional:
                field.oneof_index = len(made.oneof_decl)
                made.oneof_decl.add(name=f"_{field.name}")

    def _field(self, made: DescriptorProto, word: str) -> FieldDescriptorProto:
        label = word if word in _LABELS else ""
        kind = self._take() if label else word
        field = made.field.add(name=self._take())
        field.label = getattr(FieldDescriptorProto, f"LABEL_{(label or 'optional').upper()}")
        if label == "optional" and self._is_proto3:
            field.proto3_optional = True
        _add_type(field, kind)
        self._expect("=")
        field.number = self._number()
        self._field_options(field)
        return field

    def _oneof(self, made: DescriptorProto) -> None:
        index = len(made.oneof_decl)
        made.oneof_decl.add(name=self._take())
        self._expect("{")
        while (word := self._take()) != "}":
            if word == "option":
                self._skip()
            else:
                self._field(made, word).oneof_index = index

    def _map(self, made: DescriptorProto) -> None:
        self._expect("<")
        key = self._take()
        self._expect(",")
        value = self._take()
        self._expect(">")
        name = self._take()
        entry = made.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        for number, (field, kind) in enumerate((("key", key), ("value", value)), 1):
            _add_type(entry.field.add(name=field, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL), kind)
        field_made = made.field.add(name=name, label=FieldDescriptorProto.LABEL_REPEATED, type_name=entry.name)
        self._expect("=")
        field_made.number = self._number()
        self._field_options(field_made)

    def _enum(self, made: EnumDescriptorProto) -> None:
        made.name = self._take()
        self._expect("{")
        while (word := self._take()) != "}":
            if word in _SKIPPED:
                self._skip()
            elif word != ";":
                self._expect("=")
                made.value.add(name=word, number=self._number())
                self._options()

    def _field_options(self, field: FieldDescriptorProto) -> None:
        for name, value in _meta_params(self._options()).items():
            # No file defines the option here, so store it as protoc stores an option before it is resolved.
            option = field.options.uninterpreted_option.add(string_value=value.encode())
            option.name.add(name_part=FIELD_META, is_extension=True)
            option.name.add(name_part=name, is_extension=False)

    def _options(self) -> list[str]:
        """Skip a field's options and its end. Return the words of the options."""
        depth, start = 0, self._at
        while depth or self._next == "[":
            word = self._take()
            depth += (word == "[") - (word == "]")
        words = self._words[start : self._at]
        self._expect(";")
        return words


FIELD_META = "confluent.field_meta"
"""Confluent's option of a field, which has parameters: texts by name."""


def _meta_params(words: list[str]) -> dict[str, str]:
    """Return the parameters in a field's options, which are written as pairs of key and value or by name."""
    params: dict[str, str] = {}
    is_meta, groups = False, list[dict[str, str]]()
    for word, after, value in zip(words, words[1:], [*words[2:], ""], strict=False):
        if not groups and word == "(":
            is_meta = after.removeprefix(".") == FIELD_META
        elif is_meta and word == "{":
            groups.append({})
        elif groups and word == "}":
            group = groups.pop()
            params |= {group["key"]: group["value"]} if group.keys() == {"key", "value"} else group
        elif groups and after == ":" and value not in ("{", "["):
            groups[-1][word] = value.strip("\"'")
    return params


def _add_type(field: FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS and kind not in ("message", "enum", "group"):
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind
