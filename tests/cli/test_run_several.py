"""`forebay run A B` rejects options for single jobs, divides the memory, and ignores repeated services."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.cli import application
from forebay.cli.main import run
from forebay.cli.run_several import serve, shared_engine
from forebay.runtime.driver.session import SparkOptions
from forebay.runtime.driver.several import SeveralJobs
from forebay.runtime.spec import Tables

BOTH = ("user-sessions", "device-alerts")
NOWHERE = ("--bootstrap-servers", "127.0.0.1:1", "--schema-registry-url", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--application", "x"),
            "--application applies to a single service, because each of several jobs has the id of its service",
        ),
        (
            ("--checkpoint", "/x"),
            "--checkpoint applies to a single service, because each of several jobs has <home>/checkpoints/",
        ),
        (
            ("--set", "a=b"),
            "--set applies to a single service, because settings belong to one service: name one service",
        ),
        (("--executors", "x"), "in a cluster each service is a separate application"),
        (("--slots", "2"), "--slots 2 applies to a single service, because each of several services has one slot"),
        (("--groups", "3"), "--groups 3 applies to a single service, because each of several services has one slot"),
        (("--topic", "nothing=x"), "user-sessions, device-alerts have no input or output topic nothing"),
        (("--topic", "user_session_stats=device_alerts"), "two services would write device_alerts"),
    ],
)
def test_options_of_a_single_job_are_refused(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", *BOTH, *options, *NOWHERE]) == 2
    assert message in capsys.readouterr().err


def test_a_run_without_a_service_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *NOWHERE]) == 2
    assert "Missing argument 'SERVICE [SERVICE]...'" in capsys.readouterr().err


def test_each_service_named_is_a_job_of_one_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(application, "run_until_told", ran.append)
    given = ("--home", str(tmp_path), "--topic", "device_events=prod.devices")
    assert run(["run", *BOTH, BOTH[0], *given, *NOWHERE]) == 0
    (several,) = ran
    assert isinstance(several, SeveralJobs)
    jobs: list[Any] = [running.job for running in several._running]
    assert [job.application for job in jobs] == list(BOTH)
    assert [dict(job._options.topics) for job in jobs] == [{}, {"device_events": "prod.devices"}]
    assert [job._options.plan.checkpoint for job in jobs] == [str(tmp_path / "checkpoints" / name) for name in BOTH]


def test_each_of_several_jobs_has_a_slot() -> None:
    assert SparkOptions(jobs=9).master == "local[9,4]"
    assert SparkOptions().master == "local[1,4]"


def test_their_states_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.cli.run_several.memory_bytes", lambda: 8_000)
    engine = {"max_state_bytes": 0, "tables": Tables.IN_MEMORY}
    assert shared_engine(engine, 4)["max_state_bytes"] == 1_000
    assert shared_engine({**engine, "max_state_bytes": 77}, 4)["max_state_bytes"] == 77


def test_without_a_port_nothing_is_served() -> None:
    with serve([], "127.0.0.1", -1):
        pass
