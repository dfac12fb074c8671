"""A job is rescaled while records are written to its input. Totals remain correct, and a rescale may be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from service_bench import ServiceBench

from forebay.kafka.admin import TopicAdmin
from forebay.partitioner import partition_of
from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.runtime.maintenance.rescale import Rescale
from tests.ticket_sales import replay

pytestmark = pytest.mark.timeout(1200)

START_MS = 1_735_689_600_000


class Sales(ServiceBench):
    """The service ticket-sales with 24 input partitions."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        super().__init__(platform, "ticket-sales", "rescaled-sales", folder)
        admin = AdminClient(self.settings.admin())
        admin.create_partitions([NewPartitions(self.input, 24)])[self.input].result(30)
        self._fed = 0

    def feed(self, count: int = 3_000) -> None:
        self._fed += 1
        start_ms = START_MS + self._fed * 1_000_000
        self.produce(Options(count=count, keys=40, seed=50 + self._fed, start_ms=start_ms, event_rate=20))

    def rescale(self, tasks: int) -> str:
        job = self.job("--tasks", str(tasks), command="rescale")
        assert job.finish(400) == 0, job.text()
        return job.text()

    def check(self) -> None:
        """Compare the store's rows, each in its task, with a replay of everything that was sent."""
        records = [record for records in self.read_input().records.values() for record in records]
        _, stores = replay.replay(records, task_of=lambda key: partition_of(key.encode(), 1))
        rows = self.changelog("tickets-sold")
        held = {key.decode(): value for part in rows.values() for key, value in part.items()}
        assert held == stores["tickets-sold"]
        for task, part in rows.items():
            assert all(partition_of(title, len(rows)) == task for title in part), "a row is with another task"
        assert len(held) > 10


@pytest.fixture
def sales(platform: Platform, tmp_path: Path) -> Iterator[Sales]:
    sales = Sales(platform, tmp_path)
    yield sales
    sales.close()
    TopicAdmin(sales.settings).delete([sales.input])


def test_a_job_gets_more_and_fewer_tasks_while_its_topic_is_written(sales: Sales) -> None:
    sales.feed()
    job = sales.job("--tasks", "4")
    job.until(lambda: job.records_in() > 1_000, "the job reads")
    running = sales.job("--tasks", "8", command="rescale")
    assert running.finish() == 1
    assert "another job holds the checkpoint" in running.text()
    assert job.terminate() == 0

    for tasks in (8, 2, 3):
        writer = threading.Thread(target=sales.feed)
        writer.start()
        sales.rescale(tasks)
        writer.join()
        assert sales.changelog_partitions() == {tasks}
    sales.drain()
    sales.check()


def test_an_interrupted_change_is_finished_and_a_wrong_number_refused(sales: Sales) -> None:
    sales.feed()
    sales.drain("--tasks", "4")
    wrong = sales.job("--tasks", "5", command="rescale")
    assert wrong.finish() == 1
    assert "24 partitions, not a multiple of 5 tasks: add partitions up to a multiple of both (120)" in wrong.text()

    Rescale(sales.settings, sales.service, sales.application, {}, 4, 2).stage()
    started = sales.job()
    assert started.finish() == 1
    assert "run `forebay rescale ticket-sales --tasks 2` to complete it" in started.text()
    other = sales.job("--tasks", "8", command="rescale")
    assert other.finish() == 1
    assert "`--tasks 2` first" in other.text()

    sales.rescale(2)
    sales.feed()
    sales.drain()
    sales.check()
