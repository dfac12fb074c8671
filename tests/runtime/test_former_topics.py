"""Changelogs of removed sub-topologies are read only if they have as many partitions as the job has tasks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from forebay.catalog import find_service
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver import prepare
from forebay.runtime.driver.prepare import find_former

SETTINGS = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere:1")
TOPICS = {"app-0-task": 8, "app-1-task": 8, "app-2-task": 4, "app-3-task": 16, "other-1-task": 8}


class Admin:
    def __init__(self, *_: object) -> None: ...

    def names(self) -> list[str]:
        return sorted(TOPICS)

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        return {name: TOPICS[name] for name in names}


@pytest.mark.parametrize(
    ("tasks", "read", "message"),
    [
        (8, ("app-1-task",), "app-2-task (4 partitions), app-3-task (16 partitions) are not used"),
        (4, ("app-2-task",), "app-1-task (8 partitions), app-3-task (16 partitions) are not used"),
        (2, (), "app-1-task (8 partitions), app-2-task (4 partitions), app-3-task (16 partitions) are not used"),
    ],
)
def test_topics_of_another_number_of_tasks_are_reported_and_not_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tasks: int, read: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(prepare, "TopicAdmin", Admin)
    assert find_former(SETTINGS, find_service("user-sessions"), "app", tasks) == read
    assert message in caplog.text
