"""`forebay services` lists all services, and describes the topics and settings of one."""

import json

import pytest

from forebay.catalog import Service, all_services
from forebay.cli.main import run
from forebay.cli.services import settings_of

SERVICES = all_services()


def test_every_service_is_listed_with_its_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["services"]) == 0
    text = capsys.readouterr().out
    for service in SERVICES.values():
        assert f"\n{service.name} " in f"\n{text}"
        assert service.summary in text
        assert all(topic.name in text for topic in (*service.inputs, *service.outputs))


def test_a_service_is_described_with_its_topics_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["services", "user-sessions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "user-sessions: session statistics of each user, after every activity and after each session's end",
        "  reads",
        "    user_activity: UserActivity, 4 partitions",
    ]
    for line in (
        "    user-sessions.errors: bytes as they came, 1 partition",
        "    user-profiles (UserProfile)",
        "    user-sessions-0-task",
        "    idle_timeout_ms=1800000 (int): time without activity after which a session ends, in ms of stream time; "
        "0 = never.",
    ):
        assert line in lines


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["services", "--json"]) == 0
    results = {service["name"]: service for service in json.loads(capsys.readouterr().out)}
    assert list(results) == list(SERVICES)
    sessions = results["user-sessions"]
    assert sessions["inputs"] == [{"name": "user_activity", "record": "UserActivity", "partitions": 4}]
    assert [topic["name"] for topic in sessions["outputs"]] == [
        "user_session_stats",
        "user-sessions.errors",
        "user-sessions.late",
    ]
    assert sessions["settings"][1]["name"] == "list_limit"
    assert (sessions["settings"][1]["kind"], sessions["settings"][1]["default"]) == ("int", 100)


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.name)
def test_every_setting_of_every_service_is_explained(service: Service) -> None:
    settings = settings_of(service)
    assert [setting.name for setting in settings if not setting.meaning] == []
    json.dumps([setting.default for setting in settings])


def test_an_unknown_service_is_refused_with_the_known_services(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["services", "nonsense"]) == 2
    assert f"there is no service 'nonsense': choose one of {', '.join(SERVICES)}" in capsys.readouterr().err
