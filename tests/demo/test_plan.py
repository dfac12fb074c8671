"""The demo runs the commands that a user would type."""

import dataclasses
import socket
import sys
from pathlib import Path

import pytest

from forebay.catalog import Service, Topic, all_services, find_service
from forebay.cli.main import COMMANDS
from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.plan import DemoPlan
from forebay.platform import PlatformError
from forebay.platform.ports import HOST, is_free
from forebay.service.renaming import rename

SERVICES = all_services()

SERVICE = find_service("user-sessions")
PLAN = DemoPlan(Path("/home"), (SERVICE,), rate=500, keys=20, seed=7, memory_mb=512, duration_s=None)


def command(child: Child) -> list[str]:
    program, *rest = child._command
    assert program == sys.executable
    return rest[2:]


def parses(arguments: list[str]) -> bool:
    name, *rest = arguments
    return COMMANDS[name].load().make_context(name, rest) is not None


def test_the_producer() -> None:
    ((producer,),) = PLAN.producers()
    arguments = command(producer)
    assert arguments[:2] == ["produce", "user_activity"]
    assert {"--rate": "500", "--keys": "20", "--seed": "7"}.items() <= dict(
        zip(arguments[2::2], arguments[3::2], strict=True)
    ).items()
    assert "--start" not in arguments
    assert parses(arguments)


def test_events_are_clean_unless_disorder_is_asked_for() -> None:
    options = {"--out-of-order", "--duplicates", "--malformed"}
    for disorder, expected in ((False, set()), (True, options)):
        ((producer,),) = dataclasses.replace(PLAN, disorder=disorder).producers()
        assert options & set(command(producer)) == expected
        assert parses(command(producer))


def test_the_job() -> None:
    job = PLAN.jobs(8080)
    options = ["--home", "/home", "--http-port", "8080", "--memory", "512m", "--log-format", "text", "--no-check"]
    assert command(job) == ["run", "user-sessions", *options]
    assert job.log == Path("/home/logs/job-user-sessions.log")
    assert parses(command(job))


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.name)
def test_every_service_can_be_fed_and_run(service: Service) -> None:
    plan = dataclasses.replace(PLAN, services=(service,))
    (producers,) = plan.producers()
    assert [command(producer)[1] for producer in producers] == [topic.name for topic in service.inputs]
    assert all(parses(command(item)) for item in (*producers, plan.jobs(8080)))


def test_several_services_have_a_producer_for_each_topic_and_logs_of_their_own() -> None:
    plan = dataclasses.replace(PLAN, services=tuple(SERVICES.values()))
    topics = {topic.name for service in plan.services for topic in service.inputs}
    producers = [child for children in plan.producers() for child in children]
    logs = [item.log for item in (*producers, plan.jobs(1))]
    assert {command(producer)[1] for producer in producers} == topics
    assert len(set(logs)) == len(topics) + 1


def test_several_services_are_one_process_of_jobs() -> None:
    plan = dataclasses.replace(PLAN, services=tuple(SERVICES.values()))
    jobs = plan.jobs(8080)
    assert command(jobs)[: len(SERVICES) + 1] == ["run", *SERVICES]
    assert (jobs.name, jobs.log) == ("jobs", Path("/home/logs/jobs.log"))
    assert parses(command(jobs))
    assert [plan.pages(service) for service in plan.services] == [f"/{name}" for name in SERVICES]
    assert PLAN.pages(SERVICE) == ""


def test_the_port_is_a_free_one_unless_one_is_asked_for() -> None:
    port = PLAN.chosen_port()
    assert is_free(port)
    assert dataclasses.replace(PLAN, http_port=port).chosen_port() == port


def test_a_port_that_is_taken_is_refused_with_the_job_that_wants_it() -> None:
    with socket.socket() as server:
        server.bind((HOST, 0))
        server.listen()
        plan = dataclasses.replace(PLAN, http_port=server.getsockname()[1])
        with pytest.raises(PlatformError, match=r"wanted for the job user-sessions, is in use.*--http-port"):
            plan.chosen_port()


def test_a_topic_that_two_services_read_is_produced_once() -> None:
    other = dataclasses.replace(SERVICE, name="other")
    assert list(map(len, dataclasses.replace(PLAN, services=(SERVICE, other)).producers())) == [1, 0]


def test_a_topic_that_nothing_produces_is_refused() -> None:
    other = dataclasses.replace(SERVICE, name="other", inputs=(Topic("unheard_of"),))
    with pytest.raises(DemoError, match="nothing produces the topic unheard_of"):
        dataclasses.replace(PLAN, services=(other,)).producers()


def test_the_console_watches_every_job_of_the_demo() -> None:
    other = dataclasses.replace(SERVICE, name="price-join")
    plan = dataclasses.replace(PLAN, services=(SERVICE, other), console_port=0)
    port = plan.console_at(8090)
    assert port is not None
    command = plan.console(8090, port)._command
    assert f"{SERVICE.name}=http://127.0.0.1:8090/{SERVICE.name}" in command
    assert "price-join=http://127.0.0.1:8090/price-join" in command
    assert PLAN.console_at(8090) is None, "there is none by default"


def test_jobs_and_console_get_the_topics_names() -> None:
    plan = dataclasses.replace(PLAN, services=(rename(SERVICE, {"user_activity": "prod.clicks"}),))
    for child in (plan.jobs(8090), plan.console(8090, 7080)):
        assert "--topic=user_activity=prod.clicks" in command(child)
        assert parses(command(child))


def test_a_console_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        plan = dataclasses.replace(PLAN, console_port=server.getsockname()[1])
        with pytest.raises(PlatformError, match="--console-port"):
            plan.console_at(8090)
