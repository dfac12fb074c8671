"""Copies of requests that arrive late, after a connection was lost and the client retried the request."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from tests.runtime.simulator.coordinator import Fenced, InvalidTransaction

KINDS = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "Produce", "EndTxn")


class LateRequests:
    """Copies of requests that are delivered later, in any order. The client does not receive the responses."""

    def __init__(self, seed: random.Random) -> None:
        self.share = 0.0
        """Share of commits whose EndTxn arrives late."""
        self.share_of_others = 0.0
        self.delivered: Counter[str] = Counter()
        self._random = seed
        self._requests: list[tuple[str, Callable[[], object]]] = []

    def keep(self, kind: str, request: Callable[[], object]) -> bool:
        """Draw whether a copy of a request arrives late, and store it if so. Return whether it does."""
        share = self.share if kind == "EndTxn" else self.share_of_others
        if not share or self._random.random() >= share:
            return False
        self._requests.append((kind, request))
        return True

    def deliver(self) -> None:
        """Deliver one of the late requests, if there are any."""
        if not self._requests:
            return
        kind, request = self._requests.pop(self._random.randrange(len(self._requests)))
        answer = "done"
        try:
            request()
        except (Fenced, InvalidTransaction):
            answer = "refused"
        self.delivered[f"late {kind} {answer}"] += 1
