"""No row is lost or duplicated although a driver of the sink is killed at random points."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_topics import settings_of
from spark_sink_kills import TASKS, run

from forebay.platform import Endpoints


def test_tasks_that_are_killed_again_and_again_write_each_row_once(endpoints: Endpoints, tmp_path: Path) -> None:
    kills = run(settings_of(endpoints), tmp_path, range(1, 11), TASKS)
    assert sum(kills.points.values()) == 10


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_driver_that_is_killed_again_and_again_writes_each_row_once(endpoints: Endpoints, tmp_path: Path) -> None:
    kills = run(settings_of(endpoints), tmp_path, range(1, 11))
    assert sum(kills.points.values()) == 10
