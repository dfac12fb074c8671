"""Sends failed records again within a transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from forebay.runtime.maintenance.failed_records import Again

_SECONDS = 30.0
_POLL_S = 1.0


def place_of(message: Message) -> tuple[int, int]:
    """Return partition and offset of a record."""
    return message.partition() or 0, message.offset() or 0


def note_too_large(
    refused: set[tuple[int, int]], place: tuple[int, int], error: KafkaError | None, _message: Message
) -> None:
    """Record the place of a record that the broker refused as too large (a delivery callback)."""
    if error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        refused.add(place)


def produce_again(producer: Producer, record: Again, on_delivery: Callable[[KafkaError | None, Message], None]) -> None:
    """Send a record within the producer's transaction. Raises KafkaException."""
    at = 0 if record.timestamp is None else record.timestamp
    headers: list[tuple[str, str | bytes | None]] = list(record.headers)
    while True:
        try:
            producer.produce(
                record.topic,
                record.value,
                record.key,
                record.partition,
                timestamp=at,
                headers=headers,
                on_delivery=on_delivery,
            )
            break
        except BufferError:
            # The client's queue is full. The broker's answers empty it, or the transaction times out.
            producer.poll(_POLL_S)
    producer.poll(0)


def abort(producer: Producer) -> None:
    """Abort a transaction that can't be committed, because it hides later records until it times out."""
    with suppress(KafkaException):
        producer.abort_transaction(_SECONDS)
