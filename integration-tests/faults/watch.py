"""Consumers that watch a job under faults. They read directly from the broker, not through the proxy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from service_bench import PARTITIONS, ServiceBench
from topic_reading import Positions

Ends = dict[int, int]


class _Thread:
    """A thread that calls `look` until it is closed or an assertion fails. Errors of Kafka are ignored."""

    def __init__(self, name: str, look: Callable[[], None], pause: float) -> None:
        self.failure: AssertionError | None = None
        self._look, self._pause = look, pause
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(60)

    def _watch(self) -> None:
        while not self._closed.wait(self._pause):
            try:
                with suppress(KafkaException):
                    self._look()
            except AssertionError as failure:
                self.failure = failure
                return


class OutputWatch:
    """Reader of a service's committed outputs, which records when they arrive."""

    def __init__(self, bench: ServiceBench) -> None:
        topic = bench.service.output.name
        self._places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
        self._consumer = Consumer(bench.settings.consumer(**{"group.id": "faults-outputs"}))
        self._consumer.assign(self._places)
        self._asking = Consumer(bench.settings.consumer(**{"group.id": "faults-ends"}))
        self._arrivals: list[tuple[float, int, int]] = []
        self.received = 0
        self._thread = _Thread("outputs", self._look, 0.0)

    def ends(self) -> Ends:
        """Return the offsets after the last committed outputs, or after those received if the broker is unreachable."""
        ends = dict.fromkeys(range(PARTITIONS), 0)
        for _, partition, offset in list(self._arrivals):
            ends[partition] = max(ends[partition], offset + 1)
        with suppress(KafkaException):
            for place in self._places:
                ends[place.partition] = self._asking.get_watermark_offsets(place, 2.0)[1]
        return ends

    def beyond(self, ends: Ends) -> float | None:
        """Return when (monotonic, s) the first output at or after `ends` arrived, or None if none has arrived."""
        return next((at for at, partition, offset in list(self._arrivals) if offset >= ends[partition]), None)

    def everywhere_beyond(self, ends: Ends) -> float | None:
        """Return when every partition had an output at or after `ends`, or None if one still has none."""
        waiting = set(ends)
        for at, partition, offset in list(self._arrivals):
            if offset >= ends[partition]:
                waiting.discard(partition)
            if not waiting:
                return at
        return None

    def longest_silence(self, since: float) -> float:
        """Return the longest time (s) without an output since `since` (monotonic, s)."""
        times = [since, *(at for at, _, _ in list(self._arrivals) if at > since), time.monotonic()]
        return max(later - earlier for earlier, later in pairwise(times))

    def close(self) -> None:
        self._thread.close()
        self._consumer.close()
        self._asking.close()

    def _look(self) -> None:
        messages = [message for message in self._consumer.consume(2_000, 0.05) if message.error() is None]
        if messages:
            now = time.monotonic()
            last = {message.partition() or 0: message.offset() or 0 for message in messages}
            self._arrivals.extend((now, partition, offset) for partition, offset in last.items())
            self.received += len(messages)


class PositionSampler:
    """Reader of the positions of all tasks, which fails if a position decreases."""

    def __init__(self, bench: ServiceBench) -> None:
        self._watch = bench.positions()
        self.samples = 0
        self.newest: Positions = {}
        self._thread = _Thread("positions", self._look, 0.05)

    @property
    def failure(self) -> AssertionError | None:
        """The failed assertion about the first position that decreased, or None."""
        return self._thread.failure

    def commits(self) -> int:
        """Return the number of commits of all tasks together."""
        return sum(position["n"] for position in self.newest.values())

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of the used offsets of each input partition. Raises the failure that ended the sampling."""
        if self.failure is not None:
            raise self.failure
        return {(topic, number): end for position in self.newest.values() for topic, number, end in position["ends"]}

    def close(self) -> None:
        self._thread.close()
        self._watch.close()

    def _look(self) -> None:
        self.newest = dict(self._watch.read())
        self.samples += 1
