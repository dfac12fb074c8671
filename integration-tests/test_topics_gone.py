"""If a topic is deleted or recreated while a job runs, the job stops with a message that names the topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import INPUT, OUTPUT, Bench

from forebay.kafka.admin import TopicAdmin
from forebay.platform import Platform
from forebay.producing.base import Options

pytestmark = pytest.mark.timeout(400)

FEW = Options(count=200, keys=20, seed=51)
MANY = Options(count=2_000, keys=20, seed=52)


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "gone", tmp_path)
    bench.produce(FEW)
    yield bench
    bench.close()


@pytest.mark.parametrize("topic", [OUTPUT, "gone-user-profiles-changelog"])
def test_deleted_internal_topic_stops_the_job(bench: Bench, topic: str) -> None:
    job = bench.job()
    job.until(bench.has_read_everything, "what waited is read")
    TopicAdmin(bench.settings).delete([topic])
    bench.produce(MANY)
    assert job.finish() == 1
    assert f"error: the job's topic {topic} does not exist any more" in job.text()


def test_a_recreated_input_with_more_records_than_were_read_stops_the_job(
    bench: Bench, platform: Platform, tmp_path: Path
) -> None:
    job = bench.job()
    job.until(lambda: job.records_in() == FEW.count, "what waited is read")
    with job.frozen():
        Bench(platform, "another", tmp_path / "another").produce(MANY)
    assert job.finish() == 1
    assert f"error: {INPUT}: the checkpoint was made with topic id" in job.text()
    assert job.records_in() == FEW.count
