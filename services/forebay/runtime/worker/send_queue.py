"""A producer's queue that makes its user wait when it is full, so that a slow broker slows the task down."""

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
"""How long no record is sent before the broker is asked for the leaders of the partitions.

If a broker that is stopping reports that there are no brokers, librdkafka (2.16) may forget all of them, and does not
find them again by itself.
"""


class SendQueue:
    """Sends through a producer, whose queue's bytes are bounded by its settings (queue.buffering.max.kbytes).

    Args:
        stall_seconds: how long the broker may accept no record before the commit is given up.
        seconds: how long its transaction may take, from now on.
        other: another client. If the broker answers only this client and not the producer, the commit ends sooner.
    """

    def __init__(self, producer: Producer, stall_seconds: float, seconds: float, other: Consumer | None = None) -> None:
        self._other = other
        self._producer = producer
        self.put = producer.produce
        """Queues a record. If the queue is full, it raises BufferError; `produce` waits instead."""
        self._stall_seconds = stall_seconds
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def produce(self, *record: Any, **more: Any) -> None:
        """Queue a record (arguments of `Producer.produce`), once there is room.

        Raises:
            TransactionTooLong: the transaction's time is over. Unavailable: the broker accepts no records.
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
        """Wait until the queue is short enough, and serve delivery reports. Raises as `produce`."""
        # librdkafka keeps a record in memory until its delivery report is served.
        self._producer.poll(0)
        self._wait_below(_MOST + 1)

    def drain(self) -> None:
        """Wait until the broker has all records. Raises as `produce`."""
        # Not one flush with the whole timeout, which returns only at its end: a stalled broker would be noticed late.
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
    """Detects that no records are sent. It then asks the broker at intervals, and finally gives up."""

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
