"""Check of a topic that a file both writes and declares. The declaration must be able to read the written rows."""

from __future__ import annotations

from forebay.sql.catalog import Source
from forebay.sql.errors import SqlError
from forebay.sql.schemas.topics import key_of, value_of


def check_reader(reader: Source, writer: Source) -> None:
    """Raise SqlError if the declaration of a topic does not fit its writer's rows. The message names both lines."""
    parts: list[str] = []
    if reader.keys and reader.windowing != writer.windowing:
        parts.append(f"windows ({_windows(reader)} here, {_windows(writer)} there)")
    if not key_of(reader).reads(key_of(writer)):
        parts.append(f"the key ({key_of(reader)} here, {key_of(writer)} there)")
    if not value_of(reader).reads(value_of(writer)):
        parts.append(f"the value ({value_of(reader)} here, {value_of(writer)} there)")
    if parts:
        raise SqlError(
            reader.place,
            f"{reader.name}: the topic {reader.topic} is written by {writer.name} at {writer.place}, and declared "
            f"differently here: {'; '.join(parts)}. Declare it as it is written, or leave the declaration out and "
            f"read {writer.name}",
        )


def _windows(source: Source) -> str:
    if source.windowing is None:
        return "none"
    size = f" of {source.windowing.size_ms} ms" if source.windowing.size_ms else ""
    return f"{source.windowing.kind}{size}"
