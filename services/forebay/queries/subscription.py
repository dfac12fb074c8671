"""A queue of a store's changes for a client that follows them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from forebay.queries.entries import Entry


@dataclass(frozen=True, slots=True)
class Change:
    """A changed row. Of several changes in one commit, it is the last."""

    task: int
    batch: int
    entry: Entry


CAPACITY_BYTES = 16 << 20
"""Maximum bytes of the changed rows that a subscription holds. Decoded, they need several times as much memory."""


class End(Enum):
    """Why a subscription ended."""

    OVERFLOW = "overflow"
    RESTART = "restart"


class Subscription:
    """A queue of changes. If the client reads too slowly, it ends, so that no change is lost unnoticed.

    Args:
        key: key whose changes are selected; None: all keys.
        capacity: maximum number of changes in the queue.
        capacity_bytes: maximum bytes of their rows. A single change may have more.
    """

    def __init__(
        self,
        store: str,
        key: str | None = None,
        capacity: int = 10_000,
        capacity_bytes: int = CAPACITY_BYTES,
    ) -> None:
        self.store = store
        self.end: End | None = None
        self.key = key
        self._capacity, self._capacity_bytes = capacity, capacity_bytes
        self._bytes = 0
        self._changes: deque[Change] = deque()
        self._arrived = threading.Condition()

    def wants(self, key: str) -> bool:
        """Return whether changes of a key are selected."""
        return self.key is None or self.key == key

    def offer(self, change: Change, size: int = 0) -> None:
        """Add a change, whose row has `size` bytes."""
        with self._arrived:
            if self.end is not None:
                return
            held = len(self._changes)
            # End the subscription of a slow client instead of blocking the replica, which serves all others. The
            # client subscribes again with a snapshot.
            if held >= self._capacity or (held and self._bytes + size > self._capacity_bytes):
                self.end = End.OVERFLOW
            else:
                self._changes.append(change)
                self._bytes += size
            self._arrived.notify()

    def close(self, end: End) -> None:
        """End the subscription. Changes in the queue can still be read."""
        with self._arrived:
            self.end = self.end or end
            self._arrived.notify()

    def changes(self, silent_seconds: float) -> Iterator[list[Change]]:
        """Yield changes as they arrive until the end, and an empty list after `silent_seconds` without changes."""
        while True:
            with self._arrived:
                self._arrived.wait_for(lambda: self._changes or self.end, silent_seconds)
                taken = list(self._changes)
                self._changes.clear()
                self._bytes = 0
                ended = self.end is not None
            yield taken
            if ended:
                return
