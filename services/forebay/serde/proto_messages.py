"""The messages that a `.proto` text defines, and their paths in Confluent's framing."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from forebay.codec import DecodeError
from forebay.serde.proto_text import FIELD_META, WrongProto, file_of
from forebay.serde.references import split_files
from forebay.serde.varint import integer_bytes, read_count, read_integer

_WELL_KNOWN = re.compile(r"google/protobuf/([a-z_]+)\.proto")
_FILES = {
    "google/protobuf/timestamp.proto": (
        "package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    ),
    "google/type/date.proto": "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/timeofday.proto": (
        "package google.type; "
        "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    ),
    "confluent/type/decimal.proto": (
        "package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    "confluent/meta.proto": "package confluent;",
    "google/protobuf/wrappers.proto": "package google.protobuf; "
    + " ".join(
        f"message {name.capitalize() if name[0] != 'u' else 'UI' + name[2:]}Value {{ {name} value = 1; }}"
        for name in ("double", "float", "int64", "uint64", "int32", "uint32", "bool", "string", "bytes")
    ),
}
"""Files that any schema may import, reduced to the fields."""


@lru_cache(1024)
def messages_of(text: str) -> tuple[Descriptor, ...]:
    """Return the messages that a schema's own file defines, in order. Raise WrongProto if the text is invalid."""
    # Use a separate pool. In the default pool, two schemas could not define messages with the same name.
    pool = descriptor_pool.DescriptorPool()
    for name, content in _FILES.items():
        pool.Add(file_of(f'syntax = "proto3"; {content}', name))
    main, files = split_files(text)
    file = file_of(main, "schema.proto")
    try:
        _add_imports(pool, file, files)
        pool.Add(file)
        messages = pool.FindFileByName("schema.proto").message_types_by_name.values()
    except (TypeError, KeyError) as error:
        raise WrongProto(f"the schema is inconsistent: {error}") from error
    return tuple(messages)


def _add_imports(pool: Any, importing: Any, files: dict[str, str]) -> None:
    """Add the files that a file imports, recursively. Raise WrongProto if one is missing."""
    for name in importing.dependency:
        if name in files:
            # Remove the file first. Otherwise files that import each other would be added endlessly.
            file = file_of(files.pop(name), name)
            _add_imports(pool, file, files)
            pool.Add(file)
        elif name not in _FILES and not _is_there(pool, name) and not _add_well_known(pool, name):
            raise WrongProto(
                f"the schema imports {name}: write its messages into the schema itself, or register it with a "
                "reference to that schema"
            )


def _is_there(pool: Any, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def _add_well_known(pool: Any, name: str) -> bool:
    """Add a file that is part of Protocol Buffers, and its imports. Return False if there is no such file."""
    module = _WELL_KNOWN.fullmatch(name)
    if module is None:
        return False
    try:
        module_file = importlib.import_module(f"google.protobuf.{module[1]}_pb2").DESCRIPTOR
    except ImportError:
        return False
    for dependency in module_file.dependencies:
        if dependency.name not in _FILES:
            _add_well_known(pool, dependency.name)
    pool.AddSerializedFile(module_file.serialized_pb)
    return True


def message_of(text: str, name: str = "") -> Descriptor:
    """Return a message by its name, with or without its package.

    The name of a nested message begins with that of the enclosing message. Without a name, return the first message.

    Raises:
        WrongProto: The text is invalid, or has no such message.
    """
    messages = messages_of(text)
    for message in all_messages(messages):
        if name in ("", message.full_name, name_in_file(message)):
            return message
    names = ", ".join(message.full_name for message in messages) or "none"
    raise WrongProto(f"the schema has no message {name}: it has {names}")


_LENGTH_OF_DIGITS = 3
"""Maximum length of the texts of precision and scale. `int` raises an error for texts of thousands of digits."""


def all_messages(messages: Iterable[Descriptor]) -> Iterator[Descriptor]:
    """Yield messages and their nested messages, except for the entries of maps."""
    for message in messages:
        if not message.GetOptions().map_entry:
            yield message
            yield from all_messages(message.nested_types)


def name_in_file(message: Descriptor) -> str:
    """Return the name of a message without its package."""
    return str(message.full_name).removeprefix(f"{message.file.package}.")


META_FILE = "confluent/meta.proto"
"""File that defines the option that `decimal_option` returns."""


def decimal_option(precision: int, scale: int) -> str:
    """Return the option of a field that declares a decimal's digits, as Confluent's serializers write it."""
    pairs = f'{{key: "precision", value: "{precision}"}}, {{key: "scale", value: "{scale}"}}'
    return f" [({FIELD_META}) = {{params: [{pairs}]}}]"


def decimal_digits(field: FieldDescriptor) -> tuple[int, int] | None:
    """Return the precision and scale that a field of `confluent.type.Decimal` declares, or None.

    As in Kafka Connect, the scale is 0 if only the precision is declared. A declaration is ignored if the scale is
    larger than the precision, or if a number has too many digits.
    """
    params = {
        option.name[1].name_part: option.string_value.decode()
        for option in field.GetOptions().uninterpreted_option
        if option.name[0].name_part == FIELD_META
    }
    precision, scale = params.get("precision", ""), params.get("scale", "0")
    if not all(text.isdecimal() and len(text) <= _LENGTH_OF_DIGITS for text in (precision, scale)):
        return None
    return (int(precision), int(scale)) if 0 < int(precision) >= int(scale) else None


def class_of(message: Descriptor) -> Any:
    """Return the class of a message."""
    return message_factory.GetMessageClass(message)


def path_of(message: Descriptor) -> tuple[int, ...]:
    """Return the path of a message in its schema: the indexes of the enclosing messages and its own index."""
    around = message.containing_type
    if around is None:
        return (list(message.file.message_types_by_name).index(message.name),)
    return *path_of(around), [nested.name for nested in around.nested_types].index(message.name)


def path_bytes(message: Descriptor) -> bytes:
    """Return the bytes between a schema's id and a message: its path, or a zero byte for the first message."""
    path = path_of(message)
    return b"\0" if path == (0,) else b"".join(map(integer_bytes, (len(path), *path)))


def read_path(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """Return the path of a message in its schema, and the offset of its bytes. Raise DecodeError."""
    try:
        count, at = read_count(data, at)
        path = []
        for _ in range(count):
            index, at = read_integer(data, at)
            path.append(index)
    except IndexError as error:
        raise DecodeError(f"{len(data)} bytes end before the path of their message is complete") from error
    if any(index < 0 for index in path):
        raise DecodeError(f"the message's path {path} is negative")
    return tuple(path) or (0,), at
