"""Load of a test, which sends records at a steady rate until the test ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from confluent_kafka import Producer

from forebay.kafka.settings import KafkaSettings

Sent = tuple[str, str, bytes | None, int]
"""Topic, key, value and timestamp of a record."""
_SLICE_S = 0.1


class SteadyLoad:
    """Sender of records on a separate thread.

    Args:
        records: Records to send, without end.
        rate: Records per second.
    """

    def __init__(self, settings: KafkaSettings, records: Iterator[Sent], rate: int) -> None:
        self._producer = Producer(settings.producer())
        self._records, self._rate = records, rate
        self.sent: list[Sent] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._send, name="load", daemon=True)
        self._thread.start()

    def close(self) -> list[Sent]:
        """Stop sending, wait until the broker has stored all records, and return them."""
        self._closed.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        return self.sent

    def send(self, *records: Sent) -> None:
        """Send records after the others. The load must be closed."""
        for topic, key, value, at in records:
            self._producer.produce(topic, value, key, timestamp=at)
        assert self._producer.flush(60) == 0

    def _send(self) -> None:
        begun = time.monotonic()
        while not self._closed.wait(_SLICE_S):
            due = int((time.monotonic() - begun) * self._rate) - len(self.sent)
            for _ in range(due):
                topic, key, value, at = record = next(self._records)
                self._producer.produce(topic, value, key, timestamp=at)
                self.sent.append(record)
            self._producer.flush(60)
