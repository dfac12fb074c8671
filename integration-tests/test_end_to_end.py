"""A whole job: every output, state and error equals an independent replay of the input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import INPUT, Bench, Rules

from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.producing.sources import generate

FIRST = Options(
    count=20_000,
    keys=300,
    seed=7,
    out_of_order=0.1,
    duplicates=0.05,
    malformed=0.02,
    start_ms=1_735_689_600_000,
    event_rate=10,
    max_delay_ms=30_000,
)
SECOND = Options(
    count=5_000,
    keys=300,
    seed=8,
    out_of_order=0.1,
    duplicates=0.05,
    malformed=0.02,
    start_ms=1_735_691_700_000,
    event_rate=10,
    max_delay_ms=30_000,
)


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "end-to-end", tmp_path, Rules(idle_timeout_ms=120_000, dedupe_retention_ms=60_000))
    yield bench
    bench.close()


@pytest.mark.timeout(420)
def test_everything_equals_a_replay_and_resumes_after_a_restart(bench: Bench) -> None:
    bench.produce(FIRST)
    job = bench.drain("--max-records-per-commit", "4000")
    expected = bench.check()
    assert len(expected.errors) == count_malformed(FIRST)
    assert job.records_in() == FIRST.count
    assert job.total("commits") > 3
    sent = sum(map(len, expected.outputs.values()))
    assert [job.total(name) for name in ("records_out", "errors", "late")] == [sent, count_malformed(FIRST), 0]
    idle_ends = sum(value["activity"] is None for part in expected.outputs.values() for _, value, _ in part)
    repeated = FIRST.count - count_malformed(FIRST) - (sent - idle_ends)
    assert job.total("duplicates") == repeated
    assert repeated > 100, "the input must hold duplicates within the retention"
    assert idle_ends > 100, "the input must hold sessions that end for lack of activity"

    bench.produce(SECOND)
    again = bench.drain("--max-records-per-commit", "2000")
    assert again.records_in() == SECOND.count
    expected = bench.check()
    assert len(expected.errors) == count_malformed(FIRST) + count_malformed(SECOND)


def count_malformed(options: Options) -> int:
    return sum(event.defect is not None for event in generate(INPUT, options))
