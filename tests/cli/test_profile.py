"""`forebay profile` samples the busiest worker of the specified job, and no worker of another job."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from forebay.cli.main import run
from forebay.cli.profile import busiest, processes_of
from forebay.runtime.process.log_files import log_path

WAITS = "import sys; print(flush=True); sys.stdin.read()"
WORKS = """
import sys, threading
threading.Thread(target=sys.stdin.read).start()
print(flush=True)
while threading.active_count() > 1:
    pass
"""


@contextmanager
def worker(directory: Path, log: str, code: str = WAITS) -> Iterator[int]:
    environment = {"FOREBAY_LOG_FILE": f"1:{log}"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


def profiler(directory: Path, code: int) -> str:
    """Return a directory with a fake py-spy, which writes its arguments to its output file, or fails."""
    directory.mkdir()
    script = directory / "py-spy"
    script.write_text(f'#!/bin/sh\necho "no permission" >&2\neval "echo $* > \\${{$#}}"\nexit {code}\n')
    script.chmod(0o755)
    return str(directory)


def test_workers_belong_to_the_job_whose_log_they_write(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with (
        worker(tmp_path, str(log_path(Path("home"), "orders"))) as relative,
        worker(tmp_path, str(log_path(tmp_path / "home", "orders"))) as absolute,
        worker(tmp_path, str(log_path(tmp_path / "home", "payments"))),
        worker(tmp_path / "other", str(log_path(Path("home"), "orders"))),
    ):
        pids = {process.pid for process in processes_of(log_path(tmp_path / "home", "orders"))}
    assert pids == {relative, absolute}


def test_the_busiest_worker_is_sampled(tmp_path: Path) -> None:
    with worker(tmp_path, "a") as idle, worker(tmp_path, "a", WORKS) as busy:
        assert busiest([psutil.Process(idle), psutil.Process(busy)], 0.3) == busy


def test_the_profiler_writes_the_requested_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("forebay.cli.profile.shutil.which", lambda _name, **_options: f"{tmp_path}/bin/py-spy")
    monkeypatch.setattr("forebay.cli.profile._COMPARED_SECONDS", 0)
    profiler(tmp_path / "bin", 0)
    file = tmp_path / "graph.json"
    with worker(tmp_path, str(log_path(tmp_path, "user-sessions"))) as pid:
        arguments = ["--seconds", "7", "--format", "speedscope", "-o", str(file), "--home", str(tmp_path)]
        assert run(["profile", "user-sessions", *arguments]) == 0
    assert file.read_text().split()[:7] == ["record", "--pid", str(pid), "--duration", "7", "--format", "speedscope"]
    assert f"{file}: 7 s of worker {pid}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("has_profiler", "has_worker", "says"),
    [
        (False, True, "pip install 'forebay[profile]'"),
        (True, False, "no job of user-sessions runs with --home"),
        (True, True, "no permission; on Linux run the command as root"),
    ],
)
def test_missing_topics_are_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_profiler: bool,
    has_worker: bool,
    says: str,
) -> None:
    path = f"{profiler(tmp_path / 'bin', 1)}/py-spy" if has_profiler else None
    monkeypatch.setattr("forebay.cli.profile.shutil.which", lambda _name, **_options: path)
    monkeypatch.setattr("forebay.cli.profile._COMPARED_SECONDS", 0)
    with worker(tmp_path, str(log_path(tmp_path, "user-sessions" if has_worker else "other"))):
        assert run(["profile", "user-sessions", "-o", str(tmp_path / "file"), "--home", str(tmp_path)]) == 1
    assert says in capsys.readouterr().err
