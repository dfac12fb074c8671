"""A new client connects to the partition leaders before calls that do not wait for a connection."""

from __future__ import annotations

from forebay.kafka.leaders import learn_leaders


class Client:
    """Records the metadata requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def list_topics(self, topic: str, timeout: float) -> None:
        self.asked.append(topic)


def test_one_topic_is_requested_twice_because_the_first_response_closes_its_connection() -> None:
    client = Client()
    learn_leaders(client, ["errors"], 1.0)
    assert client.asked == ["errors", "errors"]


def test_every_topic_is_requested_after_connecting() -> None:
    client = Client()
    learn_leaders(client, ["b", "a", "b"], 1.0)
    assert client.asked == ["a", "a", "b"]


def test_nothing_is_requested_without_topics() -> None:
    client = Client()
    learn_leaders(client, [], 1.0)
    assert client.asked == []
