"""A job's starts, restarts and ends are in a file next to its log, which the console and `status` read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.console.reports import Reports
from forebay.console.verdicts import State, judge
from forebay.http.health import Health
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.observability.event_file import EventFile, is_process_alive, record_events
from forebay.runtime.task.statistics import TaskFigures

KAFKA = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081")
COMMAND = "`forebay run shop`"


class Job:
    """A job that only has a name (a `JobApplication`)."""

    application = "shop"
    kafka = KAFKA

    def __init__(self, home: Path | None) -> None:
        self.home = home
        self.health = Health()


def events_in(home: Path) -> list[dict[str, object]]:
    return EventFile(home, "shop", KAFKA.bootstrap_servers).read()


def reports_at(at_ms: int) -> Reports:
    return Reports((TaskFigures(0, 0, opened=1, at=at_ms),))


def test_an_end_without_an_error(tmp_path: Path) -> None:
    job = Job(tmp_path)
    with record_events([job]):
        job.health.note_restart("query", "the broker was away")
        (started, restart) = events_in(tmp_path)
        assert is_process_alive(started)
        assert (restart["what"], restart["reason"], restart["at_ms"]) == (
            "query",
            "the broker was away",
            job.health.restarts[0].at_ms,
        )
        assert judge(Reports(), events_in(tmp_path), COMMAND, 0).state is State.STARTING
    end = judge(Reports(), events_in(tmp_path), COMMAND, 0)
    assert (end.state, end.exit_code) == (State.ENDED, 0)


def test_an_end_by_an_error_has_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such topic"), record_events([Job(tmp_path)]):
        raise ValueError("no such topic")
    end = judge(reports_at(1), events_in(tmp_path), COMMAND, 10**13)
    assert (end.state, end.reason, end.exit_code) == (State.ENDED, "no such topic", 1)


def test_a_job_that_ended_before_the_others_keeps_its_own_end(tmp_path: Path) -> None:
    job = Job(tmp_path)
    with record_events([job]):
        job.health.set_end("too many errors", 1)
    assert job.health.end is not None
    assert events_in(tmp_path)[-1] | {"at_ms": job.health.end.at_ms} == events_in(tmp_path)[-1]
    assert events_in(tmp_path)[-1]["reason"] == "too many errors"


def test_a_job_whose_process_was_killed_is_down(tmp_path: Path) -> None:
    file = EventFile(tmp_path, "shop", KAFKA.bootstrap_servers)
    file.begin()
    path = tmp_path / "logs" / "run-shop.events.jsonl"
    path.write_text(json.dumps({**file.read()[0], "process_since": 1.0}) + '\n{"at_ms": 17')
    verdict = judge(Reports(), file.read(), COMMAND, 0)
    assert verdict.state is State.DOWN
    assert "ended before a task began, without a reason" in verdict.reason
    silent = judge(reports_at(int(file.read()[0]["at_ms"]) + 1), file.read(), COMMAND, 10**13)
    assert silent.state is State.DOWN
    assert "reported nothing" in silent.reason


def test_a_job_that_was_started_elsewhere_after_its_end_here_runs(tmp_path: Path) -> None:
    with record_events([Job(tmp_path)]):
        pass
    later_ms = int(events_in(tmp_path)[-1]["at_ms"]) + 60_000  # type: ignore[call-overload]
    assert judge(reports_at(later_ms), events_in(tmp_path), COMMAND, later_ms).state is State.RUNNING


def test_a_job_of_the_same_name_on_another_broker_is_another_job(tmp_path: Path) -> None:
    with record_events([Job(tmp_path)]):
        pass
    assert EventFile(tmp_path, "shop", "other:9092").read() == []
    assert judge(Reports(), [], COMMAND, 0).state is State.NEVER


def test_the_file_is_bounded(tmp_path: Path) -> None:
    for _ in range(150):
        with record_events([Job(tmp_path)]):
            pass
    assert len(events_in(tmp_path)) == 102
    assert not EventFile(tmp_path / "missing", "shop", "").read()


def test_in_a_pod_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with record_events([Job(tmp_path)]):
        pass
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with record_events([Job(None)]):
        pass
    assert list(tmp_path.iterdir()) == []
