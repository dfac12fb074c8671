"""A job with the name of an engine is refused, unless the engine started it or the topic belongs to the job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forebay.catalog import Topic, find_service
from forebay.cli import application
from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.live.names import NameOfEngine, check_name, mark_engine
from forebay.runtime.driver.app import JobApplication

KAFKA = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081")
SERVICE = find_service("user-sessions")


@pytest.fixture(autouse=True)
def topics(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the broker's topics, to which a test may add names."""
    topics: list[str] = []
    monkeypatch.setattr(TopicAdmin, "__init__", lambda *_: None)
    monkeypatch.setattr(TopicAdmin, "names", lambda _: topics)
    monkeypatch.setenv("FOREBAY_ENGINE", "")
    return topics


def test_name_of_a_sql_engine_is_refused_for_a_job(topics: list[str]) -> None:
    check_name(KAFKA, SERVICE, "shop")
    topics.append("shop-statements")
    with pytest.raises(NameOfEngine, match=r"`forebay sql --live shop`.*--application"):
        check_name(KAFKA, SERVICE, "shop")
    check_name(KAFKA, SERVICE, "user-sessions")


def test_the_job_of_the_engine_itself_runs(topics: list[str]) -> None:
    topics.append("shop-statements")
    mark_engine("shop")
    check_name(KAFKA, SERVICE, "shop")
    topics.append("other-statements")
    with pytest.raises(NameOfEngine):
        check_name(KAFKA, SERVICE, "other")


def test_declared_output_is_not_mistaken_for_an_engine_topic(topics: list[str]) -> None:
    topics.append("bank-statements")
    check_name(KAFKA, replace(SERVICE, outputs=(Topic("bank-statements", ""),)), "bank")


def test_forebay_run_checks_the_name_first(topics: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: list[JobApplication] = []
    monkeypatch.setattr(application, "run_until_told", jobs.append)
    nowhere = ["--bootstrap-servers", "127.0.0.1:1", "--schema-registry-url", "http://127.0.0.1:1"]
    assert run(["run", "user-sessions", "--no-check", "--home", str(tmp_path), *nowhere]) == 0
    topics.append("user-sessions-statements")
    with pytest.raises(NameOfEngine):
        jobs[0].prepare()
    assert "is the name of an engine" in jobs[0].health.ready().reason
