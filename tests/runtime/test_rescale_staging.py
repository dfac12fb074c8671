"""A rescale deletes topics only after all rows are written to the staging topic, counted and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from forebay.catalog import all_services
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription, TopicSpec
from forebay.runtime.errors import StateConflict
from forebay.runtime.maintenance import rescale, staging
from forebay.runtime.maintenance.rescale import Rescale
from forebay.runtime.maintenance.staging import Record
from forebay.runtime.protocol.position import TaskPosition

SERVICES = all_services()

STORE, INTERNAL = "user-sessions-user-profiles-changelog", "user-sessions-0-task"
STAGING = "user-sessions-rescale"
ROWS = [Record(STORE, number % 2, b"user-%d" % number, b"profile", 50) for number in range(10)]


@dataclass
class Message:
    record: Record
    sent: list[tuple[str, bytes]]

    def headers(self) -> list[tuple[str, bytes]]:
        return self.sent

    def partition(self) -> int:
        return self.record.partition

    def key(self) -> bytes:
        return self.record.key

    def value(self) -> bytes | None:
        return self.record.value

    def timestamp(self) -> tuple[int, int]:
        return 1, self.record.timestamp


@dataclass
class Broker:
    """A broker whose topics are lists. `done` has the operations in order."""

    topics: dict[str, list[Message]] = field(default_factory=dict)
    specs: dict[str, TopicSpec] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def create(self, specs: Iterable[TopicSpec]) -> None:
        for spec in specs:
            self.specs[spec.name], self.topics[spec.name] = spec, []
            self.done.append(f"create {spec.name}")

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            if self.topics.pop(name, None) is not None:
                self.done.append(f"delete {name}")

    def names(self) -> list[str]:
        return sorted(self.topics)

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        return {
            name: TopicDescription(name, "id", self.specs[name].partitions, 1, self.specs[name].config, frozenset())
            for name in names
            if name in self.topics
        }

    def messages(self, _kafka: KafkaSettings, topic: str) -> Iterator[Message]:
        return iter(self.topics[topic])


class FakeProducer:
    """A producer that writes to the broker when its transaction is committed."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._open: list[tuple[str, Message]] = []

    def init_transactions(self, _seconds: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def __len__(self) -> int:
        return 0

    def produce(self, topic: str, value: Any, key: Any, partition: int, *, timestamp: int, headers: Any) -> None:
        sent = [(name, text.encode()) for name, text in headers.items()]
        self._open.append((topic, Message(Record(topic, partition, key, value, timestamp), sent)))

    def commit_transaction(self, _seconds: float) -> None:
        for topic, message in self._open:
            self._broker.topics[topic].append(message)
        self._broker.done.append(f"write {', '.join(sorted({topic for topic, _ in self._open}))}")


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    for module in (rescale, staging):
        monkeypatch.setattr(module, "TopicAdmin", lambda _kafka: broker)
    monkeypatch.setattr(staging, "Producer", lambda _settings: FakeProducer(broker))
    monkeypatch.setattr(staging, "_messages", broker.messages)
    monkeypatch.setattr(rescale, "delete_groups", lambda _kafka, names: broker.done.append(f"forget {names[0]}"))
    broker.create(TopicSpec(name, 1, {"max.message.bytes": "2097152"}) for name in (STORE, INTERNAL))
    broker.done.clear()
    return broker


def work(rows: list[Record], monkeypatch: pytest.MonkeyPatch) -> Rescale:
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere:1")
    rescale = Rescale(kafka, SERVICES["user-sessions"], "user-sessions", {}, 1, 2)
    monkeypatch.setattr(rescale, "_records", lambda: iter(rows))
    return rescale


def test_the_old_changelogs_are_deleted_after_all_rows_are_staged(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = work(ROWS, monkeypatch)
    assert (job.stage(), job.publish()) == (10, 10)
    assert broker.done == [
        f"create {STAGING}",
        f"write {STAGING}",
        f"delete {STORE}",
        f"delete {INTERNAL}",
        f"create {STORE}",
        f"create {INTERNAL}",
        f"write {STORE}",
        "forget user-sessions-marker",
        f"delete {STAGING}",
    ]
    assert [message.record.key for message in broker.topics[STORE]] == [row.key for row in ROWS]


def test_a_row_beyond_the_new_changelogs_limit_is_refused_while_staging(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = work([*ROWS, Record(INTERNAL, 1, b"ids", bytes(2_200_000), 50)], monkeypatch)
    with pytest.raises(StateConflict, match=rf"b'ids' of task 1 takes 22\d+ bytes in {INTERNAL}, which takes 2097152"):
        job.stage()
    assert broker.done == []


def test_a_limit_that_was_raised_is_kept(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.create([TopicSpec(INTERNAL, 1, {"max.message.bytes": "5000000"})])
    job = work([Record(INTERNAL, 1, b"ids", bytes(2_200_000), 50)], monkeypatch)
    job.stage()
    job.publish()
    assert broker.specs[INTERNAL].config["max.message.bytes"] == "5000000"
    assert broker.specs[STORE].config["max.message.bytes"] == "2097152"


def test_the_staging_topic_is_configured_to_keep_everything(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    work(ROWS, monkeypatch).stage()
    config = broker.specs[STAGING].config
    assert (config["cleanup.policy"], config["retention.ms"], config["retention.bytes"]) == ("delete", "-1", "-1")
    assert config["message.timestamp.type"] == "CreateTime"


def test_former_internal_changelogs_stop_a_rescale_before_anything_is_changed(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("user-sessions-1-task", "user-sessions-12-task", STAGING, "user-sessions-eu-1-task")
    broker.create(TopicSpec(name, 1, {}) for name in others)
    broker.done.clear()
    job = work(ROWS, monkeypatch)
    for begin in (job.begin, job.stage):
        with pytest.raises(
            StateConflict, match="Their positions in user-sessions-1-task, user-sessions-12-task can't be moved"
        ):
            begin()
    assert broker.done == []
    broker.delete(others[:2])
    assert job.stage() == 10


def test_positions_of_another_sub_topology_stop_a_rescale_before_anything_is_written(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere:1")
    job = Rescale(kafka, SERVICES["user-sessions"], "user-sessions", {}, 1, 2)
    left = TaskPosition("c", 5, sub_topology="another")
    monkeypatch.setattr(job, "_read", lambda _stage, _log: ([], [left]))
    with pytest.raises(StateConflict, match="written by the sub-topology another, but belongs to user_activity now"):
        job.stage()
    assert broker.done == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda messages: messages.pop(3), rf"holds 4 records of {STORE}, partition 1, but 5 were written"),
        (lambda messages: messages.pop(), "has no record with the number of its records"),
    ],
    ids=["a row", "the numbers"],
)
def test_records_missing_from_the_staging_topic_stop_a_rescale_before_anything_is_deleted(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, damage: Callable[[list[Message]], object], message: str
) -> None:
    job = work(ROWS, monkeypatch)
    job.stage()
    damage(broker.topics[STAGING])
    with pytest.raises(StateConflict, match=message):
        job.publish()
    assert not [line for line in broker.done if line.startswith("delete")]


def test_records_missing_from_what_was_published_keep_the_staging_topic(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = work(ROWS, monkeypatch)
    job.stage()
    whole = broker.messages
    monkeypatch.setattr(
        staging, "_messages", lambda kafka, topic: whole(kafka, topic) if topic == STAGING else iter(())
    )
    with pytest.raises(StateConflict, match=rf"what was published holds 0 records of {STORE}"):
        job.publish()
    assert STAGING in broker.topics
    monkeypatch.setattr(staging, "_messages", whole)
    assert job.publish() == 10
    assert STAGING not in broker.topics
