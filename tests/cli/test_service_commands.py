"""Commands accept the services and topics of the table of services. If they reject a name, they list them."""

from dataclasses import fields

import pytest

from forebay.catalog import all_services, find_service
from forebay.cli.main import run
from forebay.job import load_job
from forebay.producing.sources import all_sources

SERVICES = all_services()

NOWHERE = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")


@pytest.mark.parametrize("command", [["run"], ["reset"], ["topics", "create"], ["topics", "describe"], ["services"]])
def test_an_unknown_service_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "nonsense"]) == 2
    assert f"there is no service 'nonsense': choose one of {', '.join(SERVICES)}" in capsys.readouterr().err


def test_an_unknown_topic_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["produce", "nonsense", *NOWHERE]) == 2
    assert f"choose one of {', '.join(sorted(all_sources()))}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["topology"], ["topics", "create"]])
def test_an_application_s_id_is_one_that_topics_can_have(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "user-sessions", "--application", "a b"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "'a b-user-profiles-changelog' is not a name that Kafka takes" in captured.err


@pytest.mark.parametrize("action", ["create", "describe"])
@pytest.mark.parametrize("services", [[], ["user-sessions", "device-alerts"]], ids=["all", "two"])
def test_an_application_id_requires_exactly_one_service(
    action: str, services: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["topics", action, *services, "--application", "mine", *NOWHERE]) == 2
    assert "--application is the id of one job: name exactly one service" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["topics", "create", "user-sessions"], ["reset", "user-sessions"]])
def test_the_number_of_tasks_is_checked(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--tasks", "0", *NOWHERE]) == 2
    assert "0 is not in the range x>=1" in capsys.readouterr().err


@pytest.mark.parametrize("name", SERVICES)
def test_an_unknown_setting_is_refused_with_the_known_settings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", name, "--set", "nonsense=1", *NOWHERE]) == 2
    settings = fields(load_job(find_service(name).job).settings)
    known = f"choose from {', '.join(field.name for field in settings)}" if settings else "it has none"
    assert f"{name} has no setting 'nonsense': {known}" in capsys.readouterr().err
