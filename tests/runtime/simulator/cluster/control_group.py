"""An in-memory control group, whose commits can be refused, arrive late, or lose their responses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

Place = tuple[str, int]


class ControlGroup:
    """The offsets of the group, which survive drivers and workers. It has the methods of a consumer that are used.

    Args:
        share: Returns the share of requests that fail.
    """

    def __init__(self, seed: random.Random, share: Callable[[], float], seen: Counter[str]) -> None:
        self._random = seed
        self._share = share
        self._seen = seen
        self._offsets: dict[Place, tuple[int, str]] = {}
        self._late: list[dict[Place, tuple[int, str]]] = []

    def commit(self, *, offsets: Iterable[Any], asynchronous: bool) -> None:
        """Commit offsets. Raises KafkaException."""
        sent = {(place.topic, place.partition): (place.offset, place.metadata or "") for place in offsets}
        fault = self._draw()
        if fault == "late":
            self._late.append(sent)
        elif fault != "refused":
            self._offsets.update(sent)
        if fault and not asynchronous:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def offsets(self, places: Iterable[Any], _seconds: float) -> list[Any]:
        """Return the committed offsets. Raises KafkaException."""
        if self._draw():
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        answers = []
        for place in places:
            offset, metadata = self._offsets.get((place.topic, place.partition), (-1001, ""))
            answers.append(SimpleNamespace(offset=offset, metadata=metadata, error=None))
        return answers

    committed = offsets
    """Name of `offsets` in the client's API."""

    def latest(self, topic: str) -> int:
        """Return the offset of a topic's first partition, or -1 if it has no offset."""
        return self._offsets.get((topic, 0), (-1, ""))[0]

    def deliver(self) -> None:
        """Deliver one of the late commits, if there are any, although later commits have already been delivered."""
        if self._late:
            self._offsets.update(self._late.pop(self._random.randrange(len(self._late))))

    def poll(self, _seconds: float) -> None:
        return

    def close(self) -> None:
        return

    def client(self, is_cut_off: Callable[[], bool]) -> Client:
        """Return a client of the group on a machine that may have no connection."""
        return Client(self, is_cut_off)

    def _draw(self) -> str:
        share = self._share()
        if not share or self._random.random() >= share:
            return ""
        fault = self._random.choice(("refused", "late", "unanswered"))
        self._seen[f"control group: {fault}"] += 1
        return fault


class Client:
    """Client of the group on one machine. It has the methods of a consumer that are used."""

    def __init__(self, group: ControlGroup, is_cut_off: Callable[[], bool]) -> None:
        self._group = group
        self._is_cut_off = is_cut_off

    def __getattr__(self, name: str) -> Any:
        if self._is_cut_off():
            return _refuse
        return getattr(self._group, name)

    def poll(self, _seconds: float) -> None:
        return


def _refuse(*_arguments: object, **_options: object) -> None:
    raise KafkaException(KafkaError(KafkaError._TRANSPORT))
