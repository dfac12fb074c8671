"""A process ends, in order to be restarted, when the certificates with which it was started change."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from forebay.cli.main import main
from forebay.cli.watched_files import VARIABLE, digest, watch, watch_given_folder


def test_changed_files_end_the_process_after_a_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificate = tmp_path / "tls.crt"
    certificate.write_text("first")
    (tmp_path / "ca.crt").write_text("authority")
    pauses: list[float] = []
    ends: list[int] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            certificate.write_text("second")

    watch(tmp_path, lambda: ends.append(len(pauses)), pause)
    assert ends == [4]
    assert pauses[:3] == [10.0] * 3
    assert 0 <= pauses[3] <= 120
    assert f"the files in {tmp_path} have changed: restarting in" in capsys.readouterr().err


def test_files_that_are_missing_for_a_moment_do_not_end_the_process(tmp_path: Path) -> None:
    """Kubernetes replaces the link to a Secret's files, and a Secret may be deleted and recreated."""
    certificate = tmp_path / "tls.crt"
    certificate.write_text("first")
    contents = iter(["", "first", "second"])

    def pause(_seconds: float) -> None:
        certificate.unlink(missing_ok=True)
        content = next(contents, "")
        if content:
            certificate.write_text(content)

    ends: list[str] = []
    watch(tmp_path, lambda: ends.append(next(contents, "all")), pause)
    assert ends == ["all"]


def test_the_digest_follows_links_and_ignores_folders(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "ca.crt").write_text("authority")
    (tmp_path / "ca.crt").symlink_to("..data/ca.crt")
    before = digest(tmp_path)
    (tmp_path / "..data" / "ca.crt").write_text("another")
    assert digest(tmp_path) not in ("", before)
    assert digest(tmp_path / "missing") == ""


def test_child_processes_watch_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    watch_given_folder()
    assert VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("arguments", "watches"),
    [
        (["console"], True),
        (["queries", "user-sessions"], True),
        (["standby", "user-sessions", "--directory", "copies"], True),
        (["sql", "--live", "shop"], True),
        (["run", "user-sessions"], True),
        (["run", "user-sessions", "--trigger", "available-now"], False),
        (["produce", "user_activity"], True),
        (["produce", "user_activity", "--count", "5"], False),
        (["produce", "user_activity", "--duration", "5"], False),
        (["reset", "user-sessions", "--yes"], False),
        (["topics", "create", "user-sessions"], False),
    ],
)
def test_only_commands_that_run_until_they_are_stopped_end_with_the_files(
    arguments: list[str], watches: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java() -> None:
        raise click.ClickException("no Java")

    monkeypatch.setattr("forebay.cli.run.find_java", no_java)
    monkeypatch.setattr("forebay.cli.watched_files.watch", lambda _folder, _end: None)
    monkeypatch.setattr("sys.argv", ["forebay", *arguments])
    monkeypatch.setenv("FOREBAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(SystemExit, match="1"):  # because no platform is running
        main()
    assert (VARIABLE not in os.environ) is watches
