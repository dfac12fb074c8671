"""Makes a client look up partition leaders before they are needed, because librdkafka retries only after 500 ms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class _Client(Protocol):
    def list_topics(self, topic: str, timeout: float) -> Any: ...


def learn_leaders(client: _Client, topics: Iterable[str], seconds: float) -> None:
    """Connect a client, and make it look up the leaders of the topics' partitions. Raises KafkaException.

    A new client that starts to read from a beginning, or to begin transactions, does not wait for its first connection:
    it checks for one, and checks again after 500 ms. The first answer is that of an address of bootstrap.servers, whose
    connection then ends. The next request uses a connection that stays.
    """
    topic_names = sorted(set(topics))
    # The first answer ends the connection to the bootstrap address, so the first topic is requested twice.
    for topic in topic_names[:1] + topic_names:
        client.list_topics(topic, timeout=seconds)
