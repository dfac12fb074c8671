"""The demo runs the same commands that a user would type."""

import dataclasses
import sys
from pathlib import Path

import pytest

from forebay.catalog import Topic, find_service
from forebay.cli.main import COMMANDS
from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.plan import DemoPlan

SERVICE = find_service("user-sessions")
PLAN = DemoPlan(Path("/home"), (SERVICE,), rate=500, keys=20, seed=7, duration_s=None)


def command(child: Child) -> list[str]:
    program, *rest = child._command
    assert program == sys.executable
    return rest[2:]


def parses(arguments: list[str]) -> bool:
    name, *rest = arguments
    return COMMANDS[name].load().make_context(name, rest) is not None


def test_the_producer() -> None:
    (producer,) = PLAN.producers()
    arguments = command(producer)
    assert arguments[:2] == ["produce", "user_activity"]
    assert {"--rate": "500", "--keys": "20", "--seed": "7"}.items() <= dict(
        zip(arguments[2::2], arguments[3::2], strict=True)
    ).items()
    assert "--start" not in arguments
    assert parses(arguments)


def test_the_job() -> None:
    job = PLAN.job(SERVICE, 8080)
    assert command(job) == ["run", "user-sessions", "--home", "/home", "--http-port", "8080", "--log-format", "text"]
    assert job.log == Path("/home/logs/job-user-sessions.log")
    assert parses(command(job))


def test_a_topic_that_two_services_read_is_produced_once() -> None:
    other = dataclasses.replace(SERVICE, name="other")
    assert len(dataclasses.replace(PLAN, services=(SERVICE, other)).producers()) == 1


def test_a_topic_that_nothing_produces_is_refused() -> None:
    other = dataclasses.replace(SERVICE, name="other", inputs=(Topic("unheard_of"),))
    with pytest.raises(DemoError, match="nothing produces the topic unheard_of"):
        dataclasses.replace(PLAN, services=(other,)).producers()
