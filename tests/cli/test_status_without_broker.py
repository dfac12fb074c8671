"""If the broker refuses a topic or does not respond, `forebay status` prints the remaining facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay.cli import job_status, status
from forebay.codec import Unavailable
from forebay.console.verdicts import State
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.platform import ComponentStatus, PlatformStatus
from tests.console.watching import NoReports

PLATFORM = PlatformStatus("home", (ComponentStatus("kafka", "127.0.0.1:9092", 9092, 7, 1_000_000),))


class NoTopics:
    """A broker without topics (a `TopicAdmin`)."""

    def __init__(self, _kafka: KafkaSettings) -> None:
        pass

    def names(self) -> list[str]:
        return []


class OwnPlatform:
    """A running platform (a `Platform`)."""

    def __init__(self, _home: Path) -> None:
        pass

    def status(self) -> PlatformStatus:
        return PLATFORM


@pytest.mark.parametrize("error", [Unavailable("no answer"), KafkaForbidden("no right to read the topic")])
def test_a_lag_that_can_t_be_read_is_unknown(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> dict[str, int]:
        raise error

    monkeypatch.setattr(job_status, "read_inputs", lambda *_: ["orders"])
    monkeypatch.setattr(job_status, "read_lag", refuse)
    monkeypatch.setattr(job_status, "TopicAdmin", NoTopics)
    monkeypatch.setattr(job_status, "ReportReader", lambda _groups: NoReports())
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:9", schema_registry_url="http://127.0.0.1:9")
    (job,) = job_status.read_jobs(kafka, tmp_path, ["user-sessions"], 0)
    assert (job.application, job.state, job.lag) == ("user-sessions", State.NEVER, None)


def test_the_platform_is_printed_before_the_broker_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[job_status.JobStatus]:
        raise Unavailable("the broker does not answer")

    monkeypatch.setattr(status, "read_jobs", refuse)
    monkeypatch.setattr(status, "Platform", OwnPlatform)
    monkeypatch.setattr(status, "connect", lambda **_: None)
    result = CliRunner().invoke(status.status, [])
    assert isinstance(result.exception, Unavailable)
    assert "127.0.0.1:9092" in result.output
    monkeypatch.setattr(status, "read_jobs", lambda *_: [])
    shown = json.loads(CliRunner().invoke(status.status, ["--json"]).output)
    assert (shown["running"], shown["jobs"]) == (True, [])
