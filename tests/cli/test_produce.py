"""`forebay produce` rejects invalid options and suggests valid ones."""

import signal
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.cli.signals import stop_requests
from forebay.platform.home import STATE_FILE
from forebay.platform.state import ComponentRecord, PlatformRecord, StateFile

NOWHERE = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("FOREBAY_BOOTSTRAP_SERVERS", "FOREBAY_SCHEMA_REGISTRY_URL"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "home"
    monkeypatch.setenv("FOREBAY_HOME", str(directory))
    return directory


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "nothing produces the topic 'nothing': choose one of "),
        ([], "Missing argument 'TOPIC'"),
        (["user_activity", "--keys", "0"], "0 is not in the range x>=1"),
        (["user_activity", "--rate", "-1"], "-1.0 is not in the range x>=0"),
        (["user_activity", "--rate", "nan"], "rate is nan: use 0 or more"),
        (["user_activity", "--rate", "inf"], "rate is inf: use 0 or more"),
        (["user_activity", "--count", "x"], "'x' is not a valid integer"),
        (["user_activity", "--malformed", "2"], "2.0 is not in the range 0<=x<=1"),
        (["user_activity", "--malformed", "0.5", "--duplicates", "0.5"], "have a sum above 0.9"),
        (["user_activity", "--start", "yesterday"], "'yesterday' is not a time: specify milliseconds since the epoch"),
        (["user_activity", "--speed", "3"], "forebay produce has no option --speed"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["produce", *arguments, *NOWHERE]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["RATE", "COUNT", "DURATION", "KEYS", "SEED", "OUT_OF_ORDER", "DUPLICATES", "START"])
def test_options_come_from_the_environment_too(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"FOREBAY_PRODUCE_{name}", "nonsense")
    assert run(["produce", "user_activity", *NOWHERE]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_no_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["produce", "user_activity"]) == 1
    assert "start the embedded platform with `forebay up`" in capsys.readouterr().err


def test_a_stopped_platform_is_reported_at_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    StateFile(home / STATE_FILE).save(PlatformRecord("c", 3, ComponentRecord(9092), ComponentRecord(8081)))
    assert run(["produce", "user_activity"]) == 1
    assert f"the platform in {home} doesn't run: `forebay up` starts it" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_restores_the_handler_for_the_second(number: signal.Signals) -> None:
    before = {item: signal.getsignal(item) for item in (signal.SIGINT, signal.SIGTERM)}
    with stop_requests() as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        assert stop.is_set()
        assert signal.getsignal(number) == before[number]
    assert {item: signal.getsignal(item) for item in before} == before
