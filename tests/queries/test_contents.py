"""The records of a job's topics and changelogs are decoded with the formats that the job declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forebay.catalog import Service, Topic
from forebay.kafka.settings import KafkaSettings
from forebay.queries.contents import contents_of, known_contents
from forebay.runtime.protocol.snapshot_mark import MARK
from forebay.service.agreement import store_contracts
from forebay.service.plugins import VARIABLE
from forebay.testing import TestDriver
from tests.dsl.every_operator import JOB, TASKS, records

SERVICE = Service(
    name="every-operator",
    summary="all operators",
    inputs=tuple(Topic(name) for name in JOB.inputs),
    outputs=tuple(Topic(name) for name in JOB.outputs),
    stores=store_contracts(JOB, JOB.settings()),
    job="tests.dsl.every_operator",
    stages=len(JOB.topology),
)
KAFKA = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x")


@dataclass
class Record:
    """A Kafka message with the fields that the decoder reads."""

    key_: bytes | None
    value_: bytes | None
    at: int = 0

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def timestamp(self) -> tuple[int, int]:
        return 1, self.at


def read_fields(topic: str, record: Any, *services: Service) -> dict[str, Any]:
    read = contents_of(topic, services or [SERVICE], KAFKA)
    assert read is not None
    return read(record)


@pytest.fixture(scope="module")
def changelogs() -> dict[str, list[Record]]:
    """Return the records of each store's changelog after all operators have worked."""
    driver = TestDriver(JOB, tasks=TASKS)
    for topic, key, value, at in records(200):
        driver.pipe(key, value, topic, at)
    logs: dict[str, list[Record]] = {}
    for (topic, _), log in driver._loop.topics.changelogs.items():
        logs.setdefault(topic, []).extend(Record(*record) for record in log.records(0))
    return logs


@pytest.mark.long
def test_each_store_s_changelog_is_read(changelogs: dict[str, list[Record]]) -> None:
    filled = 0
    for store in SERVICE.stores:
        read = contents_of(f"driven-{store}-changelog", [SERVICE], KAFKA)
        assert read is not None
        for record in changelogs.get(f"driven-{store}-changelog", ()):
            entry = read(record)  # type: ignore[arg-type]
            assert {"key", "value"} <= entry.keys()
            assert (entry["value"] is None) == (not record.value_), store
            assert isinstance(entry["key"], str)
            filled += 1
    assert filled > 100


@pytest.mark.parametrize(
    ("store", "times"),
    [
        ("finals", {"start", "end", "timestamp"}),
        ("sessions", {"start", "end"}),
        ("prices", {"timestamp"}),
        ("unpaid-left-waiting", {"timestamp"}),
        ("hops-held", {"start", "end", "timestamp"}),
        ("held", {"timestamp"}),
        ("stock", {"timestamp"}),
    ],
)
def test_windows_and_times_are_shown(changelogs: dict[str, list[Record]], store: str, times: set[str]) -> None:
    read = contents_of(f"driven-{store}-changelog", [SERVICE], KAFKA)
    assert read is not None
    entries = [read(record) for record in changelogs[f"driven-{store}-changelog"]]  # type: ignore[arg-type]
    assert any(times <= entry.keys() for entry in entries)


def test_a_changelog_that_two_services_declare_belongs_to_the_service_in_its_name() -> None:
    other = Service(
        name="other",
        summary="another",
        inputs=(Topic("a"),),
        outputs=(Topic("b"),),
        stores={"stock": ""},
        job="tests.dsl.every_operator",
    )
    assert contents_of("mine-stock-changelog", [SERVICE, other], KAFKA) is None
    assert contents_of("every-operator-stock-changelog", [SERVICE, other], KAFKA) is not None


def topics() -> Iterator[tuple[str, Any, bytes, Any]]:
    for name in JOB.outputs:
        kind = JOB.format_of(name)
        if kind.value is not None and kind.value.type is int:
            yield name, kind, kind.value.codec(lambda _: None).encode(7), 7  # type: ignore[arg-type]


@pytest.mark.parametrize(("topic", "kind", "data", "value"), [*topics()], ids=lambda each: str(each)[:20])
def test_topics_are_read_by_their_formats(topic: str, kind: Any, data: bytes, value: Any) -> None:
    assert read_fields(topic, Record(None, data)) == {"key": None, "value": value}


def test_other_topics_are_left_to_their_schemas() -> None:
    for topic in ("unknown", "x-changelog", "every-operator.errors", "every-operator-0-task"):
        assert contents_of(topic, [SERVICE], KAFKA) is None


def test_a_broken_service_does_not_keep_records_from_being_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken_entry.py").write_text("raise RuntimeError('broken')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(VARIABLE, "broken_entry")
    assert known_contents("orders", KAFKA) is None
    assert "orders is shown without the formats that its service declares" in caplog.text
    assert "RuntimeError: broken" in caplog.text


def test_the_mark_of_a_snapshot_is_named() -> None:
    assert "snapshot" in read_fields("every-operator-stock-changelog", Record(MARK, None))["note"]


@pytest.mark.parametrize(("data", "value"), [(b"", ""), (None, None)])
def test_an_empty_text_is_not_a_deleted_row(data: bytes | None, value: str | None) -> None:
    assert read_fields("every-operator-towns-changelog", Record(b"one", data))["value"] == value
