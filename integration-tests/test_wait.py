"""`forebay wait` waits for a broker, a registry and a topic, and names what is missing when its time is over."""

from __future__ import annotations

import pytest
from own_topics import new_topic, settings_of

from forebay.cli.main import run
from forebay.platform import Endpoints


def waiting(endpoints: Endpoints, *more: str) -> int:
    known = ("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url)
    return run(["wait", *known, *more])


def test_wait_ends_once_broker_and_registry_answer(endpoints: Endpoints, capsys: pytest.CaptureFixture[str]) -> None:
    assert waiting(endpoints, "--seconds", "30") == 0
    said = capsys.readouterr().out
    assert f"the broker {endpoints.bootstrap_servers} answers" in said
    assert f"the registry {endpoints.registry_url} answers" in said


def test_wait_ends_once_the_topic_exists(endpoints: Endpoints, capsys: pytest.CaptureFixture[str]) -> None:
    topic = new_topic(settings_of(endpoints), "waited-for")
    assert waiting(endpoints, "--topic", topic) == 0
    assert f"the topic {topic} exists" in capsys.readouterr().out


def test_wait_reports_a_topic_that_is_not_created(endpoints: Endpoints, capsys: pytest.CaptureFixture[str]) -> None:
    assert waiting(endpoints, "--topic", "never", "--seconds", "0.2") == 1
    assert "the topic never does not exist" in capsys.readouterr().err


def test_wait_reports_an_unreachable_registry(endpoints: Endpoints, capsys: pytest.CaptureFixture[str]) -> None:
    away = Endpoints(endpoints.bootstrap_servers, "http://127.0.0.1:9/apis/ccompat/v7")
    assert waiting(away, "--seconds", "0.2") == 1
    assert "http://127.0.0.1:9/apis/ccompat/v7 is not reachable" in capsys.readouterr().err
