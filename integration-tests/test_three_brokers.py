"""Kafka Streams' broker bounce tests: while a job runs, three brokers are stopped or killed, singly or all at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient
from faults.feeder import Feeder
from faults.verdict import Verdict, judge
from faults.watch import PositionSampler
from job_process import JobProcess
from open_transactions import open_transactions
from own_topics import new_topic, settings_of
from service_bench import ServiceBench
from three_brokers import Node, ThreeBrokers

from forebay.codec import Unavailable
from forebay.kafka.partition_ends import Place, partition_ends
from forebay.kafka.retrying import keep_trying
from forebay.platform import Platform

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COMMITS = ("--max-records-per-commit", "2000")
BOUNCES = 5
log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def brokers(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    brokers = ThreeBrokers(tmp_path_factory.mktemp("three-brokers"), platform.up().registry_url)
    try:
        brokers.up()
        yield brokers
    finally:
        brokers.close()


class Run:
    """A job under load, whose positions are watched."""

    def __init__(self, brokers: ThreeBrokers, service: str, application: str, folder: Path) -> None:
        self.brokers, self.service = brokers, service
        self.bench = ServiceBench(brokers, service, application, folder)
        self.sampler = PositionSampler(self.bench)
        self.load = Feeder(self.bench, 7, self.sampler.ends)
        self.job: JobProcess = self.bench.job(*COMMITS)
        self.until_committed(20)

    def until_committed(self, count: int) -> None:
        """Wait for this number of further commits of tasks."""
        wanted = self.sampler.commits() + count
        self.job.until(lambda: self.sampler.commits() >= wanted, f"{count} more commits")
        assert self.sampler.failure is None

    def check(self) -> None:
        """Process the remaining records, and compare all results with the replay of the input."""
        self.load.close()
        assert self.job.terminate() == 0
        self.bench.drain(*COMMITS)
        self.sampler.close()
        assert self.sampler.failure is None
        assert sum(map(len, self.bench.outputs().values())) > 2_000
        assert judge(self.service, self.bench) == Verdict()
        topics = [topic.name for topic in self.bench.service.topics(self.bench.application)]
        assert open_transactions(self.bench.settings, topics) == {}

    def close(self) -> None:
        """End the load and all processes that still run."""
        self.load.close()
        self.sampler.close()
        self.bench.close()


def node_in(role: str, run: Run, number: int) -> Node:
    """Return the broker with a role for the job. `number` selects the partition whose leader is returned."""
    if role == "controller":
        return run.brokers.controller()
    if role == "coordinator":
        return run.brokers.coordinator_of(f"{run.bench.application}-group-0")
    return run.brokers.leader_of(run.bench.input, number % 4)


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "hard"])
@pytest.mark.parametrize(
    ("role", "service"),
    [
        ("leader", "user-sessions"),
        ("leader", "order-stores"),
        ("controller", "user-sessions"),
        ("coordinator", "user-sessions"),
    ],
)
def test_job_survives_repeated_restarts_of_one_broker(
    brokers: ThreeBrokers, tmp_path: Path, role: str, service: str, *, clean: bool
) -> None:
    run = Run(brokers, service, f"{role}-{'clean' if clean else 'hard'}", tmp_path)
    try:
        for number in range(BOUNCES):
            brokers.bounce(node_in(role, run, number), clean=clean)
            run.until_committed(8)
        run.check()
    finally:
        run.close()


@pytest.mark.parametrize("service", ["user-sessions", "order-stores"])
def test_job_survives_a_kill_of_all_brokers(brokers: ThreeBrokers, tmp_path: Path, service: str) -> None:
    run = Run(brokers, service, "all-brokers", tmp_path)
    try:
        for _ in range(2):
            for node in brokers.nodes.values():
                node.end(clean=False)
            brokers.up()
            run.until_committed(8)
        run.check()
    finally:
        run.close()


def test_a_job_that_starts_without_brokers_waits_for_them(brokers: ThreeBrokers, tmp_path: Path) -> None:
    run = Run(brokers, "user-sessions", "start", tmp_path)
    try:
        run.job.kill()
        run.load.close()
        for node in brokers.nodes.values():
            node.end(clean=False)
        run.job = run.bench.job(*COMMITS)
        run.job.until(lambda: "waiting for the broker" in run.job.text(), "the job says what it waits for")
        brokers.up()
        run.job.until(run.bench.has_read_everything, "everything is read")
        run.check()
    finally:
        run.close()


class Connects(logging.Handler):
    """Log handler that counts a client's attempts to connect."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "Connecting to" in record.getMessage()


def test_an_admin_client_connects_once_a_second_to_a_broker_that_is_away(brokers: ThreeBrokers) -> None:
    settings = settings_of(brokers.up())
    topic = new_topic(settings, "ends", 12)
    brokers.until_complete()
    connects, logger = Connects(), logging.getLogger("tests.connects")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(connects)
    admin = AdminClient(settings.admin(debug="broker", log_level=7, logger=logger))
    places = [(topic, number) for number in range(12)]

    def ask(seconds: float) -> dict[Place, int]:
        return partition_ends(admin, places, IsolationLevel.READ_COMMITTED, "the topic's", seconds)

    before = keep_trying(lambda: ask(10.0), 60.0)
    node = brokers.leader_of(topic, 0)
    node.end(clean=False)
    admin.poll(0)
    connects.count, begun = 0, time.monotonic()
    answers: list[dict[Place, int]] = []
    while not answers:
        with suppress(Unavailable):
            answers.append(ask(3.0))
        assert time.monotonic() < begun + 60, "no other broker leads"
    seconds = time.monotonic() - begun
    while admin.poll(0.1):
        pass
    brokers.up()
    assert answers == [before]
    assert seconds > 2, "the broker was not missed"
    # The client tries both addresses of the broker: that in bootstrap.servers, and that in the metadata.
    assert 0 < connects.count <= 3 * seconds + 10, f"{connects.count} attempts in {seconds:.0f} s"
