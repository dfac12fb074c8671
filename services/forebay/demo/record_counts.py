"""Counts the records of topics without reading them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.kafka.settings import KafkaSettings

# Responses that were pending when the broker stopped may never arrive.
_PATIENCE_S = 5.0


class StoredRecords:
    """Requests the end offsets of partitions and reads the responses later, without ever waiting.

    Args:
        partitions: number of partitions of each topic, by name.
    """

    def __init__(self, settings: KafkaSettings, partitions: Mapping[str, int]) -> None:
        self._admin = AdminClient(settings.admin())
        latest = OffsetSpec.latest()
        self._asked = {
            TopicPartition(topic, partition): latest
            for topic, count in partitions.items()
            for partition in range(count)
        }
        self._topics = TopicCollection(list(partitions))
        self._answers: list[Future[Any]] = []
        self._asked_at = float("-inf")
        self._count: int | None = None

    def ask(self) -> None:
        """Send a request to the broker, unless one is pending."""
        now = time.monotonic()
        if self._answers and now - self._asked_at < _PATIENCE_S:
            return
        self._asked_at = now
        self._answers = list(self._admin.list_offsets(self._asked, request_timeout=_PATIENCE_S).values())

    def count(self) -> int | None:
        """Return the number of records in the topics as of the last response; None before the first response."""
        if self._answers and all(answer.done() for answer in self._answers):
            self._take_in()
            self._answers = []
        return self._count

    def _take_in(self) -> None:
        try:
            ends = [answer.result().offset for answer in self._answers]
        except KafkaException:
            # After a restart of the broker, this client's metadata is out of date until a request refreshes it.
            self._admin.describe_topics(self._topics)
            return
        self._count = sum(ends)
