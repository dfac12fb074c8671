"""Senders that keep a job under load."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, TopicPartition
from service_bench import PARTITIONS, ServiceBench

from forebay.codec import Unavailable
from forebay.producing.base import FIXED_START_MS, Options

CHUNK = 4_000
ENOUGH = 4_000
LONGEST_DELAY_MS = 30_000
GRACE_MS = 2 * LONGEST_DELAY_MS
"""Time for which price-join's orders wait for prices. It is longer than the delay of any price."""
STEP_MS = 1_200_000
"""Event time between the starts of two chunks, longer than a chunk but too short to end a session."""

Ends = dict[tuple[str, int], int]

log = logging.getLogger(__name__)


class Feeder:
    """Sender of chunks of records, on a separate thread.

    There is always a backlog, so that no task is ever idle. Results therefore depend on the records alone, not on the
    clock or the length of outages, and the replay can compute them.

    Args:
        used: Function that returns the end of the offsets that the job has used, by partition.
    """

    def __init__(self, bench: ServiceBench, seed: int, used: Callable[[], Ends]) -> None:
        self._bench, self._seed, self._used = bench, seed, used
        self._chunks = 0
        self._closed = threading.Event()
        self._consumer = self._new_consumer()
        self._left: list[Consumer] = []
        for _ in range(2):
            self._send()
        self._thread = threading.Thread(target=self._feed, name="feeder", daemon=True)
        self._thread.start()

    def _new_consumer(self) -> Consumer:
        return Consumer(self._bench.settings.consumer(**{"group.id": "faults-feeder"}))

    def close(self) -> None:
        """Stop sending. Afterwards, every record is either stored by the broker or abandoned."""
        if not self._closed.is_set():
            self._closed.set()
            self._thread.join()
            self._consumer.close()

    def _feed(self) -> None:
        while not self._closed.wait(0.2):
            try:
                if self._unread() < ENOUGH:
                    self._send()
            except (KafkaException, Unavailable) as error:
                log.warning("the feeder waits: %s", error)
                self._look_again()

    def _unread(self) -> int:
        used = self._used()
        return min(self._unread_of(topic.name, used) for topic in self._bench.service.inputs)

    def _unread_of(self, topic: str, used: Ends) -> int:
        places = [(topic, number) for number in range(PARTITIONS)]
        ends = {place: self._consumer.get_watermark_offsets(TopicPartition(*place), 5)[1] for place in places}
        return sum(end - used.get(place, 0) for place, end in ends.items())

    def _look_again(self) -> None:
        """Use a new client, because one that connected to a broker before it knew its topics may never see them.

        The old client remains open. Closing it may block forever, and the job would receive no more records.
        """
        self._left.append(self._consumer)
        self._consumer = self._new_consumer()

    def _send(self) -> None:
        number = self._chunks
        self._chunks += 1
        for topic in self._bench.service.inputs:
            self._bench.produce(
                Options(
                    count=CHUNK,
                    keys=150,
                    seed=self._seed * 1_000 + number,
                    out_of_order=0.1,
                    duplicates=0.05,
                    malformed=0.02,
                    start_ms=FIXED_START_MS + number * STEP_MS,
                    event_rate=5,
                    max_delay_ms=LONGEST_DELAY_MS,
                ),
                self._closed.is_set,
                topic.name,
            )


class Steady:
    """Sender of events at a steady rate, with times of the clock, on a separate thread until it is closed."""

    def __init__(self, bench: ServiceBench, rate: int, keys: int = 200, seed: int = 11) -> None:
        options = Options(
            rate=rate, keys=keys, seed=seed, out_of_order=0.1, duplicates=0.05, malformed=0.01, max_delay_ms=500
        )
        self._closed = threading.Event()
        self._thread = threading.Thread(target=bench.produce, args=(options, self._closed.is_set), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop sending."""
        self._closed.set()
        self._thread.join()
