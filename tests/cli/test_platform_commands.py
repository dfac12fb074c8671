from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.platform.home import STATE_FILE
from forebay.platform.state import ComponentRecord, PlatformRecord, StateFile


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "home"
    monkeypatch.setenv("FOREBAY_HOME", str(directory))
    return directory


@pytest.fixture
def stopped(home: Path) -> Path:
    """Make the directory of a platform that was started once."""
    home.mkdir()
    StateFile(home / STATE_FILE).save(PlatformRecord("c", 3, ComponentRecord(9092), ComponentRecord(8081)))
    return home


def test_status_of_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 3
    assert capsys.readouterr().out == f"no platform in {home}: `forebay up` starts one\n"


def test_status_of_a_stopped_platform(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 3
    text = capsys.readouterr().out
    assert text.count("down") == 2
    assert "http://127.0.0.1:8081/apis/ccompat/v7" in text


def test_status_as_json(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--json"]) == 3
    status = json.loads(capsys.readouterr().out)
    assert status["running"] is False
    assert status["components"][0] == {
        "name": "broker",
        "endpoint": "127.0.0.1:9092",
        "port": 9092,
        "pid": None,
        "memory_bytes": None,
    }


def test_down_of_nothing_is_no_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["down"]) == 0
    assert capsys.readouterr().out == "nothing was running\n"
    assert not home.exists()


def test_deleting_asks_first(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.confirm", lambda question: False)
    assert run(["down", "--delete-data"]) == 1
    assert stopped.exists()
    monkeypatch.setattr("click.confirm", lambda question: True)
    assert run(["down", "--delete-data"]) == 0
    assert not stopped.exists()


def test_deleting_without_being_asked(stopped: Path) -> None:
    assert run(["down", "--delete-data", "--yes"]) == 0
    assert not stopped.exists()


def test_a_directory_that_holds_no_platform_is_not_deleted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    assert run(["down", "--delete-data", "--yes"]) == 1
    assert "holds no platform" in capsys.readouterr().err
    assert home.exists()
