"""Sends a generator's records to a topic, at a steady rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from forebay.producing.base import Event
from forebay.producing.frames import Frame
from forebay.producing.pacing import bursts

PRODUCER_CONFIG: dict[str, str | int | bool] = {
    "enable.idempotence": True,
    # Java's default partitioner. With librdkafka's default, keys would go to other partitions than those of a Java
    # producer.
    "partitioner": "murmur2_random",
    "compression.type": "lz4",
    "linger.ms": 5,
    "delivery.report.only.error": True,
}
"""Client options of a producer of events, without connection options."""

_FULL_QUEUE_WAIT_S = 0.1
_FLUSH_LOOK_S = 0.2
_LAST_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of sending: accepted records, refused records with the last error, and seconds."""

    records: int
    failed: int
    seconds: float
    last_error: str | None = None


class Sender:
    """Sends events to one topic, with their timestamps.

    Args:
        frame: returns an event's encoded key and value.
        on_progress: called with the number of records sent so far, after each burst and while waiting for the broker.
        should_stop: returns whether to stop; called before each burst.
        clock: seconds, monotonic.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        producer: Producer,
        topic: str,
        frame: Callable[[Event[Any]], Frame],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
        should_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._frame = frame
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._clock = clock
        self._sleep = sleep
        self._failed = 0
        self._last_error: str | None = None

    def send(self, events: Iterable[Event[Any]], rate: float = 0, duration_s: float | None = None) -> Sent:
        """Send events, and wait until the broker has accepted all.

        Args:
            events: events in the order of sending.
            rate: events per second; 0: as fast as possible.
            duration_s: seconds after which no more are sent; None: send all.
        """
        started = self._clock()
        given = 0
        try:
            for burst in bursts(events, rate, self._clock, self._sleep):
                for event in burst:
                    self._produce(event)
                given += len(burst)
                self._producer.poll(0)
                self._on_progress(given)
                if self._should_stop() or (duration_s is not None and self._clock() - started >= duration_s):
                    break
        except BaseException:
            self._producer.flush(_LAST_WAIT_S)
            raise
        while self._producer.flush(_FLUSH_LOOK_S) > 0:
            self._on_progress(given)
        return Sent(given - self._failed, self._failed, self._clock() - started, self._last_error)

    def _produce(self, event: Event[Any]) -> None:
        key, value = self._frame(event)
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, on_delivery=self._on_delivery, timestamp=event.timestamp
                )
            except BufferError:
                # Process delivery reports, which frees space in the queue.
                self._producer.poll(_FULL_QUEUE_WAIT_S)
            else:
                return

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            self._last_error = f"{message.topic()}: {error.str()}"
