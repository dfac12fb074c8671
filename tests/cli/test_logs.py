"""`forebay logs` prints the log that `forebay run` writes for a job, and follows it when files are rotated."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from forebay.cli.logs import read_lines
from forebay.cli.main import run
from forebay.runtime.process.log_files import keep_log, log_file_handler, log_path

VARIABLE = "FOREBAY_LOG_FILE"


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv(VARIABLE, "")


def write(text: str) -> None:
    """Write a log line in the format of a job's processes."""
    handler = log_file_handler()
    assert handler is not None
    handler.emit(logging.LogRecord("forebay", logging.INFO, "", 0, text, None, None))
    handler.close()


def test_driver_and_workers_write_to_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_log(tmp_path, ["orders"])
    write("from the driver")
    monkeypatch.setenv(VARIABLE, f"1:{os.environ[VARIABLE].partition(':')[2]}")
    write("from a worker")
    assert log_path(tmp_path, "orders").read_text() == "from the driver\nfrom a worker\n"


def test_a_new_run_keeps_the_log_of_the_one_before(tmp_path: Path) -> None:
    for text in ("first", "second"):
        keep_log(tmp_path, ["orders"])
        write(text)
    path = log_path(tmp_path, "orders")
    assert (path.read_text(), path.with_suffix(".log.1").read_text()) == ("second\n", "first\n")


def test_jobs_of_one_process_have_one_log_until_one_runs_alone(tmp_path: Path) -> None:
    keep_log(tmp_path, ["orders", "bills"])
    write("both")
    keep_log(tmp_path, ["bills"])
    write("bills alone")
    assert log_path(tmp_path, "orders").read_text() == "both\n"
    assert log_path(tmp_path, "bills").read_text() == "bills alone\n"


def test_a_directory_that_can_t_be_written_stops_no_job(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keep_log(tmp_path / "file", ["orders"])
    assert log_file_handler() is None


def test_the_last_lines_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_log(tmp_path, ["user-sessions"])
    for number in range(60):
        write(f"line {number}")
    assert run(["logs", "user-sessions", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"line {number}" for number in range(10, 60)]
    assert run(["logs", "user-sessions", "--home", str(tmp_path), "-n", "1"]) == 0
    assert capsys.readouterr().out == "line 59\n"


def test_following_continues_in_the_file_of_the_next_run(tmp_path: Path) -> None:
    keep_log(tmp_path, ["orders"])
    write("first")
    lines = read_lines(log_path(tmp_path, "orders"), 10, follow=True)
    assert next(lines) == "first\n"
    write("second")
    assert next(lines) == "second\n"
    keep_log(tmp_path, ["orders"])
    write("third")
    assert next(lines) == "third\n"


@pytest.mark.parametrize(("pod", "words"), [(False, "forebay run user-sessions"), (True, "on Kubernetes, the log")])
def test_a_missing_log_is_reported_in_one_line_with_the_command_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pod: bool, words: str
) -> None:
    if pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert run(["logs", "user-sessions", "--home", str(tmp_path), "-f"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert "kubectl logs deployment/RELEASE-user-sessions" in line
    assert "-f" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["send", "user_activity"], "specify a value"),
        (["send", "user_activity", "{}", "--tombstone"], "--tombstone sends no value"),
        (["send", "user_activity", "--tombstone"], "add --key"),
    ],
)
def test_send_reports_missing_arguments_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
