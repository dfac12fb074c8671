"""The changelogs of a job with its own application id and number of tasks are created, described and emptied."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from own_topics import new_name, settings_of
from topic_reading import read_topic

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints

SERVICE = "order-stores"
STORES = ("orders", "inventory", "customers")


class Application:
    """Commands for a job of order-stores under a new application id."""

    def __init__(self, endpoints: Endpoints, folder: Path) -> None:
        self.settings: KafkaSettings = settings_of(endpoints)
        self.name = new_name("application")
        self.checkpoint = folder / "checkpoints" / self.name
        self._connection = (
            *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
            *("--home", str(folder)),
        )

    def run(self, *arguments: str) -> int:
        return run([*arguments, "--application", self.name, *self._connection])

    def partitions(self) -> dict[str, int]:
        """Return the number of partitions of the job's topics by name, without the application id."""
        admin = TopicAdmin(self.settings)
        names = [name for name in admin._admin.list_topics(timeout=10).topics if name.startswith(f"{self.name}-")]
        return {name.removeprefix(f"{self.name}-"): t.partitions for name, t in admin.describe(names).items()}

    def write(self, changelog: str) -> None:
        producer = Producer(self.settings.producer())
        producer.produce(f"{self.name}-{changelog}", "value", "key", 0)
        assert producer.flush(30) == 0

    def count(self, changelog: str) -> int:
        return sum(map(len, read_topic(self.settings, f"{self.name}-{changelog}").values()))


@pytest.fixture
def application(endpoints: Endpoints, tmp_path: Path) -> Iterator[Application]:
    application = Application(endpoints, tmp_path)
    yield application
    TopicAdmin(application.settings).delete(f"{application.name}-{name}" for name in application.partitions())


def expected_counts(tasks: int) -> dict[str, int]:
    stages = {f"{stage}-task": tasks for stage in range(3)}
    repartitions = {topic.name.removeprefix("x-"): tasks for topic in find_service(SERVICE).repartitions("x", tasks)}
    assert len(repartitions) == 2
    return {**{f"{store}-changelog": tasks for store in STORES}, **stages, **repartitions}


def test_changelogs_have_one_partition_per_task(application: Application, capsys: pytest.CaptureFixture[str]) -> None:
    assert application.run("topics", "create", SERVICE, "--tasks", "2") == 0
    assert application.partitions() == expected_counts(2)
    capsys.readouterr()
    assert application.run("topics", "describe", SERVICE, "--tasks", "2", "--json") == 0
    described = {topic["name"]: topic for topic in json.loads(capsys.readouterr().out)}
    assert described["order_events"]["partitions"] == 4
    assert described[f"{application.name}-2-task"]["config"]["cleanup.policy"] == "compact"
    assert all(topic["exists"] and topic["differences"] == [] for topic in described.values())


def test_different_number_of_tasks_is_reported_as_a_difference(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    assert application.run("topics", "create", SERVICE, "--tasks", "2") == 0
    assert application.run("topics", "create", SERVICE) == 1
    assert f"{application.name}-0-task: the number of partitions is 2, should be 4" in capsys.readouterr().err


def test_reset_empties_internal_topics_and_deletes_the_checkpoint(application: Application) -> None:
    application.run("topics", "create", SERVICE, "--tasks", "2")
    application.write("orders-changelog")
    application.checkpoint.mkdir(parents=True)
    assert application.run("reset", SERVICE, "--yes") == 0
    assert application.count("orders-changelog") == 0
    assert application.partitions() == expected_counts(2)
    assert not application.checkpoint.exists()


def test_reset_with_another_number_of_tasks_recreates_internal_topics(application: Application) -> None:
    application.run("topics", "create", SERVICE, "--tasks", "2")
    assert application.run("reset", SERVICE, "--tasks", "1", "--yes") == 0
    assert application.partitions() == expected_counts(1)


def test_reset_does_not_create_missing_topics(application: Application) -> None:
    assert application.run("reset", SERVICE, "--yes") == 0
    assert application.partitions() == {}


def test_reset_with_delete_removes_internal_topics_and_the_checkpoint(application: Application) -> None:
    application.run("topics", "create", SERVICE, "--tasks", "2")
    application.checkpoint.mkdir(parents=True)
    assert application.run("reset", SERVICE, "--delete", "--yes") == 0
    assert application.partitions() == {}
    assert not application.checkpoint.exists()


def test_a_reset_is_refused_during_an_open_transaction(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    application.run("topics", "create", SERVICE, "--tasks", "2")
    producer = Producer(application.settings.producer(**{"transactional.id": f"{application.name}-1-0"}))
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(f"{application.name}-1-task", "value", "key", 0)
    assert producer.flush(30) == 0
    assert application.run("reset", SERVICE, "--yes") == 1
    assert f"the job {application.name} runs: {application.name}-1-task-0 has a transaction" in capsys.readouterr().err
    producer.abort_transaction(30)
    deadline = time.monotonic() + 30
    while application.run("reset", SERVICE, "--yes") != 0:
        # The broker writes a transaction's markers after it has responded to the abort.
        assert time.monotonic() < deadline, capsys.readouterr().err
