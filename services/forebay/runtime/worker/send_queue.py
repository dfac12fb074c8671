"""A producer's queue that makes its user wait when it is full: a slow broker slows the task down."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from forebay.runtime.errors import TransactionTooLong, Unavailable

_MOST = 200_000
_LOOK_SECONDS = 0.01
_FLUSH_SECONDS = 0.5
_ASK_SECONDS = 3.0
"""How long nothing goes before the broker is asked who leads the partitions.

librdkafka (2.16) may forget all brokers where one that stops says that there are none, and finds none again.
"""


class SendQueue:
    """Sends through a producer, whose queue's bytes are bounded by its settings (queue.buffering.max.kbytes).

    Args:
        stall_seconds: how long the broker may take nothing at all before the commit is given up.
        seconds: how long its transaction may take, from now.
        other: another client: where it is answered and the producer never is, the commit is given up sooner.
    """

    def __init__(self, producer: Producer, stall_seconds: float, seconds: float, other: Consumer | None = None) -> None:
        self._other = other
        self._producer = producer
        self.put = producer.produce
        """Queues a record where there is room, else raises BufferError: then it is `produce` that waits."""
        self._stall_seconds = stall_seconds
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def produce(self, *record: Any, **more: Any) -> None:
        """Queue a record (arguments of `Producer.produce`), once there is room.

        Raises:
            TransactionTooLong: the transaction's time is over. Unavailable: the broker takes nothing.
        """
        try:
            self.put(*record, **more)
        except BufferError:
            while True:
                self._wait_below(len(self._producer))
                try:
                    return self.put(*record, **more)
                except BufferError:
                    continue

    def make_room(self) -> None:
        """Wait until the queue is not too long, and serve the producer. Raises as `produce`."""
        # Delivery reports are served here: librdkafka keeps a record until its report was taken.
        self._producer.poll(0)
        self._wait_below(_MOST + 1)

    def drain(self) -> None:
        """Wait until the broker has everything. Raises as `produce`."""
        # Not one flush with the whole timeout: it returns only at its end, and a stalled broker would be noticed late.
        stall = _Stall(self._producer.flush(0), self._stall_seconds, self._ask)
        while stall.left:
            stall.check(self._producer.flush(_FLUSH_SECONDS))
            self._check_time(stall.left)

    def _wait_below(self, most: int) -> None:
        stall = _Stall(len(self._producer), self._stall_seconds, self._ask)
        while stall.left >= most:
            self._producer.poll(_LOOK_SECONDS)
            stall.check(len(self._producer))
            self._check_time(stall.left)

    def _ask(self) -> bool:
        """Ask which brokers lead the partitions. Return whether only the producer gets no answer."""
        if _is_answered(self._producer):
            return False
        return self._other is not None and _is_answered(self._other)

    def _check_time(self, left: int) -> None:
        if left and time.monotonic() > self._until:
            raise TransactionTooLong(
                f"{left} records still wait for the broker after {self._seconds:.0f} s, the "
                "transaction timeout: use smaller commits (--max-records-per-commit) or a "
                "longer timeout (--transaction-timeout-ms)"
            )


def _is_answered(client: Producer | Consumer) -> bool:
    try:
        client.list_topics(timeout=_ASK_SECONDS)
    except KafkaException:
        return False
    return True


class _Stall:
    """Notices that nothing goes: then it asks, now and again, and gives up at last."""

    def __init__(self, left: int, seconds: float, ask: Callable[[], bool]) -> None:
        self.left = left
        self._seconds = seconds
        self._ask = ask
        self._alone = 0
        self._moved_at = self._asked_at = time.monotonic()

    def check(self, left: int) -> None:
        now, before, self.left = time.monotonic(), self.left, left
        if left < before:
            self._moved_at = self._asked_at = now
        elif left and now - self._moved_at > self._seconds:
            raise Unavailable(
                f"{left} records wait, and the broker has accepted none of them for {self._seconds:.0f} s"
            )
        elif left and now - self._asked_at > _ASK_SECONDS:
            # In 3 of 34 restarts of a broker under load, a producer got no answer for 50 to 61 s while other clients
            # did. A new producer takes seconds.
            self._alone = self._alone + 1 if self._ask() else 0
            self._asked_at = time.monotonic()
            if self._alone > 1:
                raise Unavailable(f"{left} records wait: the broker answers other clients, but not this producer")
