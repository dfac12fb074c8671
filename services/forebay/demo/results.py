"""Reads the latest results of a service, and the reasons of rejected records."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, Message, TopicPartition

from forebay.catalog import Service
from forebay.codec import DecodeError, Unavailable
from forebay.demo.columns import Record, columns_of
from forebay.demo.view import Reason, Results
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.serde.generic import GenericDecoder

_KEPT_RESULTS = 60
_KEPT_REASONS = 20
_RESULTS_PER_LOOK = 3
_FETCH = 5_000
_FETCHES_PER_LOOK = 10


class ResultReader:
    """Reads new committed records of a service's output and .errors topics.

    Args:
        partitions: number of partitions of each of these topics, by name.
    """

    def __init__(self, settings: KafkaSettings, service: Service, partitions: Mapping[str, int]) -> None:
        self._latest: dict[str, deque[Record]] = {topic.name: deque(maxlen=_KEPT_RESULTS) for topic in service.outputs}
        self._declared = {topic.name: topic.declared for topic in service.outputs}
        self._decoder = GenericDecoder(shared_registry(settings.registry()))
        self._consumer = Consumer(settings.consumer(**{"group.id": "forebay-demo"}))
        self._ends = [
            TopicPartition(topic, partition, OFFSET_END)
            for topic in (*self._latest, service.errors.name)
            for partition in range(partitions[topic])
        ]
        self._consumer.assign(self._ends)
        self._reasons: dict[str, int] = {}

    @property
    def results(self) -> tuple[Results, ...]:
        """The latest results of each output topic, newest first."""
        return tuple(
            Results(topic, columns_of(self._declared[topic], latest[0] if latest else {}), tuple(latest))
            for topic, latest in self._latest.items()
        )

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of rejected records, latest first."""
        return tuple(Reason(text, count) for text, count in reversed(self._reasons.items()))

    def look(self) -> None:
        """Read new records without waiting. If there are too many, skip some."""
        results: dict[str, deque[Message]] = {topic: deque(maxlen=_RESULTS_PER_LOOK) for topic in self._latest}
        for _ in range(_FETCHES_PER_LOOK):
            messages = self._consumer.consume(_FETCH, 0)
            for message in messages:
                if message.error() is not None:
                    continue
                topic = message.topic() or ""
                if topic in results:
                    results[topic].append(message)
                else:
                    self._add_reason(reason_of(message))
            if len(messages) < _FETCH:
                break
        else:
            self._consumer.assign(self._ends)
        for topic, latest in results.items():
            for message in latest:
                self._add_result(topic, message.key(), message.value())

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _add_result(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            return
        try:
            record = _of_json(key, value) if value.startswith(b"{") else self._decoder.decode(value)
        except (DecodeError, ValueError, Unavailable):
            return
        if isinstance(record, Mapping):
            self._latest[topic].appendleft(record)

    def _add_reason(self, reason: str) -> None:
        count = self._reasons.pop(reason, 0)
        self._reasons[reason] = count + 1
        if len(self._reasons) > _KEPT_REASONS:
            del self._reasons[next(iter(self._reasons))]


def reason_of(message: Message) -> str:
    """Return the reason of a record of an .errors topic: the stage and the error."""
    headers = dict[str, str | bytes | None](message.headers() or ())
    stage, text = (headers.get(f"error.{name}") for name in ("stage", "message"))
    return f"{_text(stage)}: {_text(text)}"


def _of_json(key: bytes | None, value: bytes) -> Any:
    """Return a result without contract. Its key comes first, as it is often not in the value. Raises ValueError."""
    record = json.loads(value)
    text = (key or b"").decode(errors="replace")
    return {"key": text, **record} if text.isprintable() else record


def _text(value: str | bytes | None) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return " ".join(text.split()) if text else "?"
