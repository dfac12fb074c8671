"""Headers of records in a repartition topic: Forebay's own come first, then those of the record.

The first header of each record names its sender. If the record's own headers begin with a reserved name, a separator
precedes them. Therefore only a control record has a control header after its sender (see `runtime/protocol/times.py`),
and a user's header is never mistaken for one of Forebay's.
"""

from __future__ import annotations

from collections.abc import Collection

from forebay.processor.messages import Headers, Message

RESERVED = "forebay."
"""Prefix of the names of Forebay's headers."""
SENDER = "forebay.sender"
"""Header with the name of the task that forwarded the record."""
SEPARATOR = "forebay.headers"
"""Header between the sender and the record's own headers, if these begin with a reserved name."""


def forwarded_headers(sender: Headers, headers: Headers) -> Headers:
    """Return the headers of a forwarded record: the sender's headers, followed by the record's own headers."""
    if headers and headers[0][0].startswith(RESERVED):
        return [*sender, (SEPARATOR, None), *headers]
    return [*sender, *headers]


def own_headers(headers: Headers | None) -> Headers:
    """Return the record's own headers, which were passed to `forwarded_headers`."""
    if not headers or headers[0][0] != SENDER:
        return headers or []
    begin = 2 if len(headers) > 1 and headers[1][0] == SEPARATOR else 1
    return headers[begin:]


class ForwardedRecord:
    """A record of a repartition topic with only its own headers (a `Message`)."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.topic, self.partition, self.offset = message.topic, message.partition, message.offset
        self.key, self.value, self.timestamp = message.key, message.value, message.timestamp

    def headers(self) -> Headers | None:
        """Return the record's own headers."""
        return own_headers(self._message.headers())


def as_received(message: Message, repartitions: Collection[str]) -> Message:
    """Return a record with only the headers that its application set.

    Args:
        repartitions: Repartition topics.
    """
    return ForwardedRecord(message) if message.topic() in repartitions else message
