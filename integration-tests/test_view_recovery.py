"""A job with views loses its checkpoint and changes its number of tasks. Rows and totals equal the replay's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service_bench import ServiceBench

from forebay.partitioner import partition_of
from forebay.platform import Platform
from forebay.producing.base import Options
from tests.sensor_views import replay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

START_MS = 1_735_689_600_000


class Views(ServiceBench):
    """sensor-views with an input without repetitions, so that all task counts process the same records."""

    def feed(self, seed: int) -> None:
        start_ms = START_MS + seed * 300_000
        self.produce(Options(count=3_000, keys=60, seed=seed, out_of_order=0.1, start_ms=start_ms, event_rate=20))

    def check(self, tasks: int) -> None:
        """Compare the stores' rows with the replay, and check that each row is in its task."""
        records = [record for records in self.read_input().records.values() for record in records]
        _, wanted = replay.replay(records)
        for view, totals in wanted.items():
            rows = self.changelog(view.replace("_", "-"))
            held = {key.decode(): row for part in rows.values() for key, row in part.items()}
            assert replay.stored_totals(held) == totals
            for task, part in rows.items():
                assert all(partition_of(group, tasks) == task for group in part), "a row is with another task"
        assert len(wanted["avg_readings"]) == 60
        assert len(wanted["part_avg"]) > 5


@pytest.fixture
def views(platform: Platform, tmp_path: Path) -> Iterator[Views]:
    views = Views(platform, "sensor-views", "recovered-views", tmp_path)
    yield views
    views.close()


def test_views_survive_a_lost_checkpoint_and_other_numbers_of_tasks(views: Views) -> None:
    views.feed(1)
    views.drain()
    views.lose_checkpoint()
    views.feed(2)
    views.drain("--restore")
    views.check(4)
    rescaled = views.job("--tasks", "2", command="rescale")
    assert rescaled.finish(400) == 0, rescaled.text()
    views.feed(3)
    views.drain()
    views.check(2)
