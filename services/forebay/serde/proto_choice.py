"""Check that a record holds the Protobuf message that its reader has chosen."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor

from forebay.codec import DecodeError
from forebay.serde.proto_messages import all_messages, messages_of, name_in_file, path_of
from forebay.serde.proto_text import WrongProto

MessagePath = tuple[int, ...]


def writers_message(text: str, schema_id: int, path: MessagePath) -> Descriptor:
    """Return the message of a writer's schema at a path. Raises DecodeError: there is none."""
    try:
        message = messages_of(text)[path[0]]
        for index in path[1:]:
            message = message.nested_types[index]
    except (IndexError, WrongProto) as error:
        raise DecodeError(f"the message {path} of schema {schema_id} is unknown: {error}") from error
    return message


def check_message(
    chosen: Descriptor, writer: Descriptor, path: MessagePath, owns: Callable[[], bool], remedy: str
) -> None:
    """Refuse a record of another message. Parsed as the chosen message, its bytes would be other values.

    A version of the subject may have another package. A message that it has in the same place was renamed, unless one
    of the two schemas has both names.

    Args:
        chosen: The reader's message.
        writer: The record's message.
        path: Its place in the writer's schema.
        owns: Returns whether the writer's schema is of the reader's subject. It is called only if the names differ.
        remedy: How another message is chosen, for the error.

    Raises:
        DecodeError: The record is of another message.
    """
    if writer.full_name == chosen.full_name:
        return
    name, writers_name = name_in_file(chosen), name_in_file(writer)
    is_renamed = path == path_of(chosen) and name not in _names(writer) and writers_name not in _names(chosen)
    if (writers_name == name or is_renamed) and owns():
        return
    raise DecodeError(f"it is a message {writer.full_name}, not {chosen.full_name}: {remedy}")


def _names(message: Descriptor) -> frozenset[str]:
    """Return the names of all messages in a message's file."""
    return frozenset(map(name_in_file, all_messages(message.file.message_types_by_name.values())))
