"""Who leads partitions, learnt before it is needed: librdkafka asks again only half a second later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class _Client(Protocol):
    def list_topics(self, topic: str, timeout: float) -> Any: ...


def learn_leaders(client: _Client, topics: Iterable[str], seconds: float) -> None:
    """Have a client connect, and learn who leads the topics' partitions. Raises KafkaException.

    A new client that is asked to read from a beginning, or to begin transactions, does not wait for its first
    connection: it checks for one, and checks again after 500 ms. The first answer comes from an address of
    bootstrap.servers and ends that connection; the next one comes by a connection that stays.
    """
    topic_names = sorted(set(topics))
    # The first answer ends the connection to the bootstrap address, so the first topic is asked for twice.
    for topic in topic_names[:1] + topic_names:
        client.list_topics(topic, timeout=seconds)
