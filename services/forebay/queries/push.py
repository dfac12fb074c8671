"""Reads the committed records of a topic of SQL rows, in the order of each partition."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException

from forebay.codec import DecodeError, Unavailable
from forebay.kafka.errors import ends_reading
from forebay.kafka.settings import KafkaSettings
from forebay.processor.messages import Headers, Origin
from forebay.queries.first_offsets import partitions_of

if TYPE_CHECKING:
    from forebay.sql.catalog import Source
    from forebay.sql.queryable import Codecs

_POLL_SECONDS = 0.1
_SILENT_POLLS = 20


class Tail:
    """An iterator of a topic's records: key, row, timestamp in ms and origin. It yields None after 2 silent seconds.

    Args:
        stops_at_end: Whether to stop at the current end of the topic.

    Raises:
        Unavailable: the broker can't be reached, or has no such topic.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        codecs: Callable[[Source], Codecs],
        source: Source,
        from_beginning: bool,
        stops_at_end: bool = False,
    ) -> None:
        self._ends: set[int] | None = None
        self._key, self._value = codecs(source)
        self._topic = source.topic
        # Each reader has its own group. Nothing is committed, and a shared group would need a right on its name.
        options = {"group.id": f"forebay-sql-{uuid.uuid4().hex}", "enable.auto.commit": False}
        if stops_at_end:
            # Request the end as an event, because the last offset may be a transaction marker, which is no message.
            options["enable.partition.eof"] = True
        self._consumer = Consumer(kafka.consumer(**options, **{"isolation.level": "read_committed"}))
        try:
            places = partitions_of(self._consumer, self._topic, from_beginning)
            self._consumer.assign(places)
            self._ends = {place.partition for place in places} if stops_at_end else None
        except (KafkaException, Unavailable) as error:
            self._consumer.close()
            raise Unavailable(f"topic {self._topic} can't be followed: {error}: retry") from error

    def __iter__(self) -> Iterator[tuple[Any, Any, int, Origin] | None]:
        silent, read = 0, dict[int | None, int]()
        while self._ends is None or self._ends:
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None:
                # At None, the caller writes to the client, and so notices a lost connection.
                silent += 1
                if silent % _SILENT_POLLS == 0:
                    yield None
                continue
            silent = 0
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF and self._ends is not None:
                    self._ends.discard(message.partition() or 0)
                if error.fatal() or ends_reading(error):
                    raise Unavailable(f"topic {self._topic} can't be followed any more: {error}: send the query again")
                continue
            partition, offset = message.partition(), message.offset() or 0
            if offset < read.get(partition, 0):
                continue  # after a leader election, the client may return records again
            read[partition] = offset + 1
            key, value = message.key(), message.value()
            try:
                yield (
                    None if key is None else self._key.decode(key),
                    None if value is None else self._value.decode(value),
                    message.timestamp()[1],
                    Origin(partition or 0, offset, cast(Headers, message.headers() or [])),
                )
            except DecodeError:
                # A record that does not match its declaration goes to the job's `.errors`. It is no row here either.
                continue

    def close(self) -> None:
        """Stop reading the topic."""
        self._consumer.close()
