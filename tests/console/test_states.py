"""The console reads a job's state from its HTTP page, or from its tasks' reports if it has no page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import pytest
from confluent_kafka import TopicPartition

from forebay.catalog import find_service
from forebay.codec import Unavailable
from forebay.console import restores
from forebay.console.backlog import BacklogReader
from forebay.console.job_address import WatchedJob, WrongAddress, checked_url
from forebay.console.reports import HeldLease, Reports, reports_of
from forebay.console.restores import RestoreReader, Restoring
from forebay.console.watcher import JobWatcher
from forebay.http.messages import Answer
from forebay.http.server import HttpServer
from forebay.platform.ports import HOST, free_port
from forebay.runtime.task.statistics import TaskFigures
from tests.console.watching import Console, Job, Restores, status_report

NOW = 1_700_000_000.0
NOW_MS = int(NOW * 1000)


def state_of(console: Console) -> tuple[str, str]:
    console.look(NOW)
    (job,) = console.get("/api/jobs")[1]["jobs"]
    return job["state"], job["reason"]


def test_the_reason_of_a_job_that_is_down_names_the_command_to_run() -> None:
    console = Console([f"http://{HOST}:{free_port()}"])
    state, reason = state_of(console)
    assert state == "down"
    assert "does not answer" in reason
    assert "forebay run user-sessions" in reason
    status, body = console.get("/api/jobs/user-sessions?topology=1")
    assert (status, body["tasks"], body["stores"]) == (200, [], {})
    assert body["topology"]["nodes"], "its topology is still shown"
    console.close()


def test_a_page_of_another_program_is_recognized() -> None:
    other = HttpServer(lambda _: Answer(200, "text/html", b"<h1>hello</h1>"), HOST, 0)
    console = Console([f"http://{HOST}:{other.port}"])
    assert "not as a job of Forebay does" in state_of(console)[1]
    console.close()
    other.close()


def test_starting_running_and_waiting() -> None:
    job = Job()
    console = Console([job])
    assert state_of(console) == ("starting", "starting: no task has begun yet")
    job.report(1, at=1)
    assert state_of(console)[0] == "running"
    job.health.failing("the broker is away")
    assert state_of(console) == ("trouble", "the broker is away")
    job.close()
    assert state_of(console)[0] == "down"
    console.close()


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_job_that_ended_has_its_reason_and_no_statistics(exit_code: int) -> None:
    job = Job()
    console = Console([job])
    job.report(1, at=1)
    assert state_of(console)[0] == "running"
    before_ms = time.time_ns() // 1_000_000
    job.health.set_end("no such topic", exit_code)
    job.health.working()
    job.health.failing("a report that comes after the end")
    assert state_of(console) == ("ended", "no such topic")
    (shown,) = console.get("/api/jobs")[1]["jobs"]
    assert shown["exit_code"] == exit_code
    assert shown["since_ms"] >= before_ms
    figures = ("in", "out", "lag", "errors", "late", "p50", "p99", "rows", "bytes", "errors_total", "late_total")
    assert {shown[name] for name in figures} == {None}
    assert console.get("/api/jobs/user-sessions")[1]["tasks"] == []
    console.close()
    job.close()


def test_the_lag_of_a_job_that_does_not_run_comes_from_the_broker() -> None:
    job = Job()
    console = Console([job])
    console.backlog = {"user_activity": 40}
    job.report(1, at=1)
    console.look(NOW)
    assert console.get("/api/jobs")[1]["jobs"][0]["lag"] is None, "a job that runs reports its lag itself"
    job.health.set_end("no such topic", 1)
    console.look(NOW + 5)
    assert console.get("/api/jobs")[1]["jobs"][0]["lag"] == 40
    assert console.get("/api/jobs/user-sessions")[1]["lags"] == {"user_activity": 40}
    job.close()
    assert state_of(console)[0] == "down"
    assert console.get("/api/jobs")[1]["jobs"][0]["lag"] == 40
    console.close()


class Broker:
    """A function that returns the lag of a job, and records the requests."""

    def __init__(self) -> None:
        self.lag: dict[str, int] | Exception = {"user_activity": 7}
        self.requests: list[tuple[str, list[str]]] = []

    def __call__(self, application: str, topics: Sequence[str]) -> Mapping[str, int]:
        self.requests.append((application, list(topics)))
        if isinstance(self.lag, Exception):
            raise self.lag
        return self.lag


def test_the_broker_is_asked_for_a_backlog_every_ten_seconds() -> None:
    now, broker = [100.0], Broker()
    job = WatchedJob(find_service("user-sessions"), "mine")
    reader = BacklogReader(job, broker, lambda: now[0])
    assert [reader.read(), reader.read()] == [{"user_activity": 7}] * 2
    assert broker.requests == [("mine", ["user_activity"])]
    now[0] += 10
    broker.lag = Unavailable("the broker is away")
    assert reader.read() == {}
    broker.lag = {"user_activity": 9}
    reader.forget()
    assert reader.read() == {"user_activity": 9}


def test_restarts_and_states_are_listed_with_their_reasons() -> None:
    job = Job()
    console = Console([job])
    job.report(1, at=1)
    console.look(NOW)
    job.health.note_restart("worker", "the worker process 11 has ended")
    job.health.failing("the broker is away")
    for seconds in (2, 4):
        console.look(NOW + seconds)
    events = console.get("/api/jobs/user-sessions")[1]["events"]
    assert {(event["what"], event["reason"]) for event in events} == {
        ("worker", "the worker process 11 has ended"),
        ("trouble", "the broker is away"),
    }
    assert len(events) == 2, "what lasts is listed once"
    job.close()
    console.look(NOW + 6)
    assert len(console.get("/api/jobs/user-sessions")[1]["events"]) == 3, "they outlast the job's process"
    console.close()


def test_the_share_of_failed_records_is_that_of_the_records_read() -> None:
    job = Job()
    console = Console([job])
    job.report(100, at=1)
    console.look(NOW)
    assert console.get("/api/jobs")[1]["jobs"][0]["errors_share"] is None
    job.report(300, at=2, errors=50)
    console.look(NOW + 4)
    assert console.get("/api/jobs")[1]["jobs"][0]["errors_share"] == 0.25
    job.report(300, at=3, errors=50)
    console.look(NOW + 20)
    assert console.get("/api/jobs")[1]["jobs"][0]["errors_share"] is None, "nothing was read"
    console.close()
    job.close()


def test_later_polls_do_not_change_the_time_at_which_a_job_s_state_began() -> None:
    job = Job()
    console = Console([job])
    job.report(1, at=1)
    console.look(NOW)
    job.health.failing("the broker is away")
    for seconds in (2, 4):
        console.look(NOW + seconds)
        assert console.get("/api/jobs")[1]["jobs"][0]["since_ms"] == NOW_MS + 2_000
    console.close()
    job.close()


class ReportReader:
    """Reports that the test sets (a `ReportReader`)."""

    def __init__(self) -> None:
        self.reports: Reports | Exception = Reports()

    def read(self, _application: str, _stages: int) -> Reports:
        if isinstance(self.reports, Exception):
            raise self.reports
        return self.reports


def test_a_job_without_a_page_is_known_by_its_tasks_reports() -> None:
    reader = ReportReader()
    service = find_service("user-sessions")
    watcher = JobWatcher(WatchedJob(service, service.name), reader, Restores(), lambda *_: {})  # type: ignore[arg-type]
    watcher.look(NOW, 0)
    assert "no task has reported yet" in watcher.overview(NOW)["reason"]
    assert watcher.overview(NOW)["state"] == "never"
    for seconds in (0, 2):
        count = 100 + 50 * seconds
        figures = TaskFigures(
            0, 1, opened=1, at=NOW_MS + seconds * 1000, commits=count, records_in={"user_activity": count}
        )
        reader.reports = reports_of([status_report(figures, "user-sessions-0-task")])
        watcher.look(NOW + seconds, float(seconds))
    shown = watcher.overview(NOW)
    assert (shown["state"], shown["in"], shown["lag"]) == ("running", 50.0, None)
    for seconds, lag in ((3, {"user_activity": [1, 40, 5, 2]}), (4, {})):
        figures = TaskFigures(
            0, 1, opened=1, at=NOW_MS + seconds * 1000, commits=900, records_in={"user_activity": 900}, lag=lag
        )
        reader.reports = reports_of([status_report(figures, "user-sessions-0-task")])
        watcher.look(NOW + seconds, float(seconds))
        assert watcher.overview(NOW)["lag"] == sum(lag.get("user_activity", ())[1::2])
    watcher.look(NOW + 60, 60.0)
    assert watcher.overview(NOW)["state"] == "down"
    assert "reported nothing for 56 s" in watcher.overview(NOW)["reason"]
    reader.reports = Unavailable("the group can't be read")
    watcher.look(NOW + 62, 62.0)
    assert "does the broker run?" in watcher.overview(NOW)["reason"]


def test_reports_of_other_releases_are_left_out() -> None:
    figures = TaskFigures(0, 0, opened=1, at=NOW_MS)
    odd = TopicPartition("a-0-task", 1, 7, '{"figures": "{\\"unknown\\": 1}", "trouble": ""}')
    result = reports_of([odd, status_report(figures, "a-0-task", "waits")])
    assert (len(result.figures), result.trouble) == (1, "waits")


def test_the_lease_of_each_task_is_read_from_its_report() -> None:
    of_older = status_report(TaskFigures(0, 1, opened=1, at=NOW_MS), "a-0-task")
    metadata = {**json.loads(of_older.metadata or ""), "lease": {"number": 7, "planned": NOW_MS}}
    metadata["figures"] = TaskFigures(0, 0, opened=1, at=NOW_MS).to_json()
    result = reports_of([TopicPartition("a-0-task", 0, 0, json.dumps(metadata)), of_older])
    assert result.leases == {(0, 0): HeldLease(7, NOW_MS)}


def test_reports_of_earlier_runs_are_left_out() -> None:
    """A job of fewer sub-topologies or tasks than before leaves the last reports of the others."""
    places = []
    for run, planned, names in (("first", NOW_MS, "ab"), ("second", NOW_MS + 9, "a")):
        for number, name in enumerate(names):
            of_run = {"run": run, "lease": {"number": 1, "planned": planned}}
            place = status_report(TaskFigures(number, 0, opened=planned, at=NOW_MS), name, f"{run} waits")
            metadata = json.dumps({**json.loads(place.metadata or ""), **of_run})
            places.append(TopicPartition(name, 0, 0, metadata))
    result = reports_of(places[1:])
    assert [(item.sub_topology, item.opened) for item in result.figures] == [(0, NOW_MS + 9)]
    assert (result.trouble, list(result.leases)) == ("second waits", [(0, 0)])
    assert reports_of(places[1:2]).trouble == "first waits", "the only run"


def test_a_job_s_restore_is_reported_until_it_runs() -> None:
    job = Job()
    console = Console([job])
    console.restores.places = [Restoring("user-sessions-0-task", 1, 400, 1_000)]
    assert state_of(console)[0] == "starting"
    shown = {"topic": "user-sessions-0-task", "partition": 1, "offset": 400, "end": 1_000}
    assert console.get("/api/jobs/user-sessions")[1]["restores"] == [shown]
    job.report(1, at=1)
    assert state_of(console)[0] == "running"
    assert console.get("/api/jobs/user-sessions")[1]["restores"] == []
    console.close()
    job.close()


class Committed:
    """The offsets that a restore's consumer group committed (a `GroupOffsets`)."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, int], int] = {}

    def read(self, group: str, topics: list[str]) -> list[TopicPartition]:
        assert (group, topics) == ("a-restore", ["a-user-profiles-changelog", "a-0-task"])
        return [TopicPartition(*place, offset) for place, offset in self.offsets.items()]

    def leave(self, group: str) -> None:
        assert group == "a-restore"


def test_reports_of_an_earlier_restore_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restores, "partition_ends", lambda _admin, places, *_: dict.fromkeys(places, 100))
    groups, service = Committed(), find_service("user-sessions")
    reader = RestoreReader(groups, None)  # type: ignore[arg-type]
    groups.offsets = {("t", 0): 60, ("t", 1): 70}
    assert reader.read(service, "a") == []
    groups.offsets = {("t", 0): 10, ("t", 1): 70, ("u", 0): 120}
    assert reader.read(service, "a") == [Restoring("t", 0, 10, 100), Restoring("u", 0, 120, 120)]
    reader.running("a")
    assert reader.read(service, "a") == []


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host", "http://", "http://host:99999", "http://host?x=1", ""])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(WrongAddress, match="write http://HOST:PORT"):
        checked_url(url)
