"""Check that a record contains the Protobuf message that its reader has chosen."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor

from forebay.codec import DecodeError
from forebay.serde.framing import HEADER_BYTES, schema_id_of
from forebay.serde.proto_messages import all_messages, messages_of, name_in_file, path_of, read_path
from forebay.serde.proto_text import WrongProto

MessagePath = tuple[int, ...]
_MOST_REFUSED = 1_000


class FramedMessages:
    """A reader of Confluent's framing that accepts only one message.

    Args:
        message: The reader's message.
        text_of: Function that returns the schema with an id. It raises DecodeError or RegistryUnavailable.
        owns: Function that returns whether the schema with an id belongs to a subject of the reader.
        remedy: How another message is chosen, for errors.
    """

    def __init__(
        self, message: Descriptor, text_of: Callable[[int], str], owns: Callable[[int], bool], remedy: str
    ) -> None:
        self._message, self._remedy = message, remedy
        self._text_of, self._owns = text_of, owns
        self._checked: set[tuple[int, MessagePath]] = set()
        self._refused: dict[tuple[int, MessagePath], str] = {}
        """Reason why records of a schema's message can't be read, regardless of subject, as schemas do not change."""

    def body(self, data: bytes) -> bytes:
        """Return the bytes of the message. Raise DecodeError or RegistryUnavailable."""
        schema_id = schema_id_of(data)
        path, at = read_path(data, HEADER_BYTES)
        if (schema_id, path) not in self._checked:
            self._check(schema_id, path)
            self._checked.add((schema_id, path))
        return data[at:]

    def _check(self, schema_id: int, path: MessagePath) -> None:
        if (schema_id, path) in self._refused:
            raise DecodeError(self._refused[schema_id, path])
        text, asked = self._text_of(schema_id), []

        def owns() -> bool:
            asked.append(schema_id)
            return self._owns(schema_id)

        try:
            check_message(self._message, writers_message(text, schema_id, path), path, owns, self._remedy)
        except DecodeError as error:
            # Limit the number of entries. Any bytes may follow an id, so there may be any number of paths.
            if not asked and len(self._refused) < _MOST_REFUSED:
                self._refused[schema_id, path] = str(error)
            raise


def writers_message(text: str, schema_id: int, path: MessagePath) -> Descriptor:
    """Return the message of a writer's schema at a path. Raise DecodeError if there is no such message."""
    try:
        message = messages_of(text)[path[0]]
        for index in path[1:]:
            message = message.nested_types[index]
    except (IndexError, WrongProto) as error:
        raise DecodeError(
            f"the message {path} of schema {schema_id} is unknown: {error}: register a valid schema that has the "
            "message, and send the record again"
        ) from error
    return message


def check_message(
    chosen: Descriptor, writer: Descriptor, path: MessagePath, owns: Callable[[], bool], remedy: str
) -> None:
    """Check that a record's message is the chosen one. Otherwise its bytes would be parsed as other values.

    Another version of the subject may have another package. A message at the same path was renamed, unless one of the
    two schemas has both names.

    Args:
        chosen: The reader's message.
        writer: The record's message.
        path: Its path in the writer's schema.
        owns: Function that returns whether the writer's schema belongs to the reader's subject. It is called only if
            the names differ.
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
