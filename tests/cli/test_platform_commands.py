from __future__ import annotations

import io
import json
import socket
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
def stopped_platform(home: Path) -> Path:
    """Return the directory of a platform that was started before and is stopped now."""
    home.mkdir()
    StateFile(home / STATE_FILE).save(PlatformRecord("c", 3, ComponentRecord(9092), ComponentRecord(8081)))
    return home


def test_status_of_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 3
    assert capsys.readouterr().out == f"no platform in {home}: `forebay up` starts one\n"


def test_status_of_a_stopped_platform(stopped_platform: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 3
    text = capsys.readouterr().out
    assert text.count("down") == 2
    assert "http://127.0.0.1:8081/apis/ccompat/v7" in text


def test_status_as_json(stopped_platform: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_deleting_data_requires_confirmation(stopped_platform: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.confirm", lambda question: False)
    assert run(["down", "--delete-data"]) == 1
    assert stopped_platform.exists()
    monkeypatch.setattr("click.confirm", lambda question: True)
    assert run(["down", "--delete-data"]) == 0
    assert not stopped_platform.exists()


def test_deleting_without_a_terminal_requires_an_option(
    stopped_platform: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(["down", "--delete-data", "--home", str(stopped_platform)]) == 2
    assert capsys.readouterr().err.strip() == "error: there is no terminal to confirm on: pass --yes"
    assert stopped_platform.exists()


def test_deleting_data_with_an_option_skips_the_confirmation(stopped_platform: Path) -> None:
    assert run(["down", "--delete-data", "--yes"]) == 0
    assert not stopped_platform.exists()


def test_a_directory_that_holds_no_platform_is_not_deleted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    assert run(["down", "--delete-data", "--yes"]) == 1
    assert "holds no platform" in capsys.readouterr().err
    assert home.exists()


@pytest.mark.parametrize(
    ("ports", "option"),
    [
        (["--broker-port", "25555", "--registry-port", "25555"], "--registry-port"),
        (["--registry-port", "9092"], "--registry-port"),
        (["--broker-port", "8081"], "--broker-port"),
    ],
    ids=["both given", "the broker's of the last start", "the registry's of the last start"],
)
def test_one_port_for_both_is_refused(
    stopped_platform: Path, ports: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", *ports]) == 1
    error = f"error: broker and registry can't both listen on port {ports[1]}: choose another port with {option}.\n"
    assert capsys.readouterr().err == error


@pytest.mark.parametrize("which", ["broker", "registry"])
def test_a_used_port_is_refused_before_anything_starts(
    home: Path, which: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(["up", f"--{which}-port", str(port)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: port {port}, wanted for the {which}, is in use")
    assert f"or choose another port with --{which}-port.\n" in error
    assert not (home / "logs" / "broker.log").exists()


def test_a_port_of_the_last_start_that_is_used_now_is_refused_before_anything_starts(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        port, free = server.getsockname()[1], other.getsockname()[1]
        other.close()
        StateFile(home / STATE_FILE).save(PlatformRecord("c", 3, ComponentRecord(free), ComponentRecord(port)))
        assert run(["up"]) == 1
    assert f"error: port {port}, wanted for the registry, is in use" in capsys.readouterr().err
    assert not (home / "logs" / "broker.log").exists()
