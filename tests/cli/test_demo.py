"""`forebay demo` rejects invalid options before it starts anything."""

from pathlib import Path

import pytest

from forebay.catalog import all_services
from forebay.cli import demo as command
from forebay.cli.main import run
from forebay.demo.leftovers import only_demo
from forebay.demo.plan import DemoPlan, PlatformAfter
from forebay.demo.run import Demo

pytestmark = pytest.mark.long

SERVICES = all_services()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOREBAY_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[DemoPlan]:
    plans: list[DemoPlan] = []

    class Recorded(Demo):
        def __init__(self, plan: DemoPlan, *rest: object) -> None:
            plans.append(plan)

        def run(self) -> None:
            return

    monkeypatch.setattr(command, "Demo", Recorded)
    return plans


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "there is no service 'nothing': choose one of device-alerts, "),
        (["user-sessions", "--all"], "--all runs every service: name services or use --all, not both"),
        (["--memory", "100"], "100 is not in the range x>=512"),
        (["--http-port", "0"], "0 is not in the range 1<=x<=65000"),
        (["--rate", "0"], "0.0 is not in the range"),
        (["--rate", "inf"], "inf is not in the range"),
        (["--keys", "0"], "0 is not in the range"),
        (["--duration", "-1"], "-1.0 is not in the range"),
    ],
)
def test_wrong_usage_is_refused(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(home.iterdir())


def test_the_defaults(home: Path, plans: list[DemoPlan]) -> None:
    assert run(["demo"]) == 0
    (plan,) = plans
    assert [service.name for service in plan.services] == ["user-sessions"]
    assert (plan.home, plan.rate, plan.duration_s, plan.platform_after) == (home, 1000, None, PlatformAfter.STOP)


@pytest.mark.usefixtures("home")
def test_several_services_are_named(plans: list[DemoPlan]) -> None:
    names = list(SERVICES)[:2]
    assert run(["demo", *reversed(names), "--memory", "600", "--http-port", "8090"]) == 0
    (plan,) = plans
    assert [service.name for service in plan.services] == names[::-1]
    assert (plan.memory_mb, plan.http_port, plan.rate) == (600, 8090, 100)


@pytest.mark.usefixtures("home")
def test_all_services(plans: list[DemoPlan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "available_mb", lambda: 32_000)
    assert run(["demo", "--all"]) == 0
    assert [service.name for service in plans[0].services] == list(SERVICES)


def test_services_that_dont_fit_into_memory_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "available_mb", lambda: 1500)
    assert run(["demo", "--all"]) == 1
    assert "MB are available: name at most 2 services" in capsys.readouterr().err
    assert not list(home.iterdir())


@pytest.mark.usefixtures("home")
def test_a_service_named_twice_runs_once(plans: list[DemoPlan]) -> None:
    assert run(["demo", "user-sessions", "user-sessions", "--duration", "40", "--keep-platform"]) == 0
    (plan,) = plans
    assert len(plan.services) == 1
    assert (plan.duration_s, plan.platform_after) == (40, PlatformAfter.KEEP)


def test_connections_of_the_environment_are_not_used(
    home: Path, plans: list[DemoPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {
        "FOREBAY_BOOTSTRAP_SERVERS": "b:9092",
        "FOREBAY_KAFKA_SSL_CA_LOCATION": "x",
        "FOREBAY_RUN_EMIT": "latest",
    }
    monkeypatch.setattr(command, "os", type("System", (), {"environ": environment}))
    assert run(["demo"]) == 0
    assert environment == {"FOREBAY_RUN_EMIT": "latest"}
    assert plans[0].home == home


def test_a_second_demo_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with only_demo(home):
        assert run(["demo"]) == 1
    assert f"another demo runs in {home}" in capsys.readouterr().err
