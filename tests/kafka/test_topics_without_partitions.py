"""If a broker describes a topic without partitions, it is being created or deleted, and the job waits."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaUnavailable
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.broker.requests import BrokerView
from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import digest_topics

MESSAGE = "the topic new has no partitions yet: it is being created or deleted, or the controller moves"


class Admin:
    """An admin client of topics with these numbers of partitions."""

    def __init__(self, **partitions: int) -> None:
        self.partitions = partitions

    def describe_topics(self, topics: Any, **_: object) -> dict[str, Future[Any]]:
        answers: dict[str, Future[Any]] = {}
        for name in topics.topic_names:
            partition = SimpleNamespace(replicas=[1])
            answers[name] = Future()
            described = SimpleNamespace(topic_id=f"id of {name}", partitions=[partition] * self.partitions[name])
            answers[name].set_result(described)
        return answers


@pytest.mark.parametrize("is_input", [True, False])
def test_a_job_waits_for_it(*, is_input: bool) -> None:
    admin: Any = Admin(old=2, new=2)
    consumer: Any = None
    topics = ("old", "new") if is_input else ("old",)
    view = BrokerView(admin, consumer, topics, own=() if is_input else ("new",))
    before = digest_topics(view.topic_ids(), view.partitions)
    admin.partitions = {"old": 4, "new": 0}
    with pytest.raises(Unavailable, match=MESSAGE):
        view.topic_ids()
    assert view.partitions["old"] == 2, "the numbers of one look"
    admin.partitions = {"old": 2, "new": 2}
    assert digest_topics(view.topic_ids(), view.partitions) == before


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> TopicAdmin:
    topics = TopicAdmin(KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere"), 0.1)
    monkeypatch.setattr(topics, "_admin", Admin(new=0))
    return topics


def test_a_start_waits_for_it(topics: TopicAdmin) -> None:
    with pytest.raises(KafkaUnavailable, match=MESSAGE):
        topics.partitions(["new"])
    with pytest.raises(KafkaUnavailable, match=MESSAGE):
        topics.describe(["new"])


def test_it_has_an_id(topics: TopicAdmin) -> None:
    assert topics.topic_ids(["new"]) == {"new": "id of new"}
