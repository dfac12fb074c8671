"""PRINT: the records of a topic as text, whether or not a statement declares it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from forebay.codec import Codec
from forebay.kafka.settings import KafkaSettings
from forebay.queries.push import Tail
from forebay.sql.catalog import Source
from forebay.sql.printing import Print

_TYPES = {"ROWTIME": "BIGINT", "partition": "INTEGER", "offset": "BIGINT", "key": "STRING", "value": "STRING"}


class _Text:
    """Shows bytes as text, or as hexadecimal digits if they are not UTF-8."""

    def decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return f"0x{data.hex()}"


@dataclass(frozen=True, slots=True)
class _Topic:
    topic: str


def follow_topic(kafka: KafkaSettings, statement: Print) -> Tail:
    """Return an iterator of the records of a PRINT's topic. Raises Unavailable."""
    text = cast(Codec[Any], _Text())
    topic = cast(Source, _Topic(statement.subject))
    return Tail(kafka, lambda _: (text, text), topic, statement.from_beginning)


def print_rows(tail: Tail, statement: Print) -> Iterator[dict[str, Any] | None]:
    """Yield the lines of the response: columns, a row per record, and the end at a LIMIT; None for silence."""
    read = shown = 0
    try:
        yield {"columns": [{"name": name, "type": kind} for name, kind in _TYPES.items()]}
        for record in tail if statement.limit != 0 else ():
            if record is None:
                yield None
                continue
            read += 1
            if (read - 1) % statement.every:
                continue
            key, value, timestamp, origin = record
            shown += 1
            cells = timestamp, origin.partition, origin.offset, key, value
            yield {"row": dict(zip(_TYPES, cells, strict=True))}
            if shown == statement.limit:
                break
        yield {"end": {"rows": shown}}
    finally:
        tail.close()
