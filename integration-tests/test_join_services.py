"""Services with joins, tables and views are killed while they work. Their results equal independent replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from join_replays import check_averages, check_bills, check_payments, check_sales, check_votes
from service_bench import ServiceBench

from forebay.platform import Platform
from forebay.producing.base import Options

pytestmark = pytest.mark.timeout(600)

Open = Callable[..., ServiceBench]
WaitUntil = Callable[..., None]

LONGEST_DELAY_MS = 30_000
GRACE_MS = 4 * LONGEST_DELAY_MS
HISTORY = ("--set", "history_retention_ms=3600000")
SMALL_COMMITS = ("--max-records-per-commit", "200")
START_MS = 1_735_689_600_000
STEP_MS = 1_200_000


def events(seed: int, start_ms: int) -> Options:
    return Options(
        count=4_000,
        keys=120,
        seed=seed,
        out_of_order=0.1,
        duplicates=0.05,
        malformed=0.02,
        start_ms=start_ms,
        event_rate=5,
        max_delay_ms=LONGEST_DELAY_MS,
    )


@pytest.fixture
def open_drained_job(platform: Platform, tmp_path: Path, wait_until: WaitUntil) -> Iterator[Open]:
    """Yield a function that runs a service over its input. The job is killed after some commits and restarted."""
    benches: list[ServiceBench] = []

    def drain(service: str, *arguments: str) -> ServiceBench:
        bench = ServiceBench(platform, service, f"joins-{service}", tmp_path, arguments)
        benches.append(bench)
        feed(bench, events(21, START_MS))
        job = bench.job(*SMALL_COMMITS)
        positions = bench.positions()
        wait_until(lambda: positions.commits() >= 8, f"some commits of {service}", seconds=200)
        job.kill()
        positions.close()
        feed(bench, events(22, START_MS + STEP_MS))
        rest = bench.job("--trigger", "available-now", *SMALL_COMMITS)
        assert rest.finish(400) == 0, rest.text()
        return bench

    yield drain
    for bench in benches:
        bench.close()


def feed(bench: ServiceBench, options: Options) -> None:
    for topic in bench.service.inputs:
        bench.produce(options, topic=topic.name)


def test_bills_use_the_price_at_the_time_of_the_order(open_drained_job: Open) -> None:
    check_bills(open_drained_job("price-join", "--set", f"grace_ms={GRACE_MS}", *HISTORY), GRACE_MS, at_least=5_000)


def test_counts_are_those_of_each_customer_s_latest_vote_and_region(open_drained_job: Open) -> None:
    check_votes(open_drained_job("menu-votes", *HISTORY), voters=100)


def test_every_order_meets_each_of_its_payments_once(open_drained_job: Open) -> None:
    check_payments(open_drained_job("order-payments", "--set", "within_ms=86400000"), at_least=3_000)


def test_changes_of_a_title_that_survive_compaction_equal_the_replay(open_drained_job: Open) -> None:
    check_sales(open_drained_job("ticket-sales"), at_least=5_000)


def test_averages_of_sensors_and_areas_are_the_replays_exactly(open_drained_job: Open) -> None:
    check_averages(open_drained_job("sensor-views"), at_least=5_000)
