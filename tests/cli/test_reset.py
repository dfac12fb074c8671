"""`forebay reset` changes nothing while the job is running."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli import reset as command
from forebay.cli.main import run
from forebay.runtime.driver.checkpoint import held_checkpoint
from forebay.runtime.driver.running import JobRuns

NOWHERE = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")


class Touched(Exception):
    """The command was about to change something on the broker."""


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each attempt of the command to change the broker is added."""
    results: list[str] = []

    def touch(*_: object) -> None:
        results.append("the broker")
        raise Touched

    monkeypatch.setattr(command, "TopicAdmin", touch)
    return results


def test_it_is_refused_while_the_job_holds_its_checkpoint(
    tmp_path: Path, changes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    with held_checkpoint(str(checkpoint)):
        assert run(["reset", "user-sessions", "--yes", "--checkpoint", str(checkpoint), *NOWHERE]) == 1
    assert f"another job holds the checkpoint {checkpoint}: stop it first" in capsys.readouterr().err
    assert (changes, checkpoint.is_dir()) == ([], True)


def test_it_is_refused_while_the_job_commits_elsewhere(
    tmp_path: Path, changes: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def runs(_kafka: object, application: str, stages: int) -> None:
        raise JobRuns(f"the job {application} of {stages} stages runs")

    monkeypatch.setattr(command, "refuse_running", runs)
    assert run(["reset", "order-stores", "--yes", "--checkpoint", str(tmp_path / "checkpoint"), *NOWHERE]) == 1
    assert "the job order-stores of 3 stages runs" in capsys.readouterr().err
    assert changes == []


def test_deleted_topics_have_no_number_of_tasks(changes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reset", "user-sessions", "--delete", "--tasks", "2", *NOWHERE]) == 2
    assert "--delete deletes the topics, so --tasks has no effect" in capsys.readouterr().err
    assert changes == []
