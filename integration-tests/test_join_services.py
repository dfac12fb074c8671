"""price-join, menu-votes and ticket-sales, each killed in mid-work: what they wrote equals independent replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service_bench import ServiceBench

from forebay.partitioner import partition_of
from forebay.platform import Platform
from forebay.stores.keys import split_key
from producers.base import Options
from tests.menu_votes import replay as menu_votes
from tests.price_join import replay as price_join
from tests.ticket_sales import replay as ticket_sales

pytestmark = pytest.mark.timeout(600)

Record = tuple[str, str | None, dict[str, Any] | None, int]
Open = Callable[..., ServiceBench]
WaitUntil = Callable[..., None]

PARTITIONS = 4
LONGEST_DELAY_MS = 30_000
GRACE_MS = 4 * LONGEST_DELAY_MS
HISTORY = ("--set", "history_retention_ms=3600000")
SMALL_BATCHES = ("--max-records-per-batch", "700", "--tick-ms", "0")
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
def drained(platform: Platform, tmp_path: Path, wait_until: WaitUntil) -> Iterator[Open]:
    """Give a function that has a service process its input, killed after two batches and started again."""
    benches: list[ServiceBench] = []

    def drain(service: str, *arguments: str) -> ServiceBench:
        bench = ServiceBench(platform, service, f"joins-{service}", tmp_path, arguments)
        benches.append(bench)
        feed(bench, events(21, START_MS))
        job = bench.job(*SMALL_BATCHES)
        wait_until(lambda: len(job.batches()) >= 2, f"two batches of {service}", seconds=200)
        job.kill()
        feed(bench, events(22, START_MS + STEP_MS))
        rest = bench.job("--trigger", "available-now", *SMALL_BATCHES)
        assert rest.finish(400) == 0, rest.text()
        return bench

    yield drain
    for bench in benches:
        bench.close()


def feed(bench: ServiceBench, options: Options) -> None:
    for topic in bench.service.inputs:
        bench.produce(options, topic=topic.name)


def received(bench: ServiceBench) -> dict[int, list[Record]]:
    """Give the usable records of all input topics by partition, one topic after the other; count the others."""
    records: dict[int, list[Record]] = {partition: [] for partition in range(PARTITIONS)}
    unusable = 0
    for topic in bench.service.inputs:
        found = bench.received(topic.name)
        unusable += len(found.unusable)
        for partition, usable in found.records.items():
            records[partition] += [(topic.name, *record) for record in usable]
    assert len(bench.errors()) == unusable > 50
    return records


def test_bills_are_those_at_the_price_of_the_order_s_time(drained: Open) -> None:
    bench = drained("price-join", "--set", f"grace_ms={GRACE_MS}", *HISTORY)
    outputs = bench.outputs()
    bills = 0
    for partition, records in received(bench).items():
        stream_time = max(timestamp for *_, timestamp in records)
        due = [bill for bill in price_join.settled(records) if bill[2] + GRACE_MS <= stream_time]
        assert sorted(outputs[partition], key=order_of) == sorted(due, key=order_of)
        bills += len(due)
    assert bills > 5_000
    assert bench.late() == []


def order_of(bill: tuple[str, dict[str, Any], int]) -> tuple[str, str]:
    return bill[1]["order_id"], bill[0]


def test_counts_are_those_of_everybody_s_latest_vote_and_region(drained: Open) -> None:
    bench = drained("menu-votes", *HISTORY)
    stores = menu_votes.settled([record for records in received(bench).values() for record in records])
    dishes = last_votes(bench, "vote_counts")
    assert {dish: votes for dish, votes in dishes.items() if votes} == non_zero(stores["dish-counts"])
    regions = {split_key(key): votes for key, votes in last_votes(bench, "votes_by_region").items() if votes}
    assert regions == non_zero(stores["region-counts"])
    assert sum(dishes.values()) == 120
    assert bench.late() == []


def last_votes(bench: ServiceBench, topic: str) -> dict[str, int]:
    """Give the count of each key as a compacted topic tells it."""
    return {key: value["votes"] for outputs in bench.outputs(topic).values() for key, value, _ in outputs}


def non_zero(counts: dict[Any, int]) -> dict[Any, int]:
    return {group: votes for group, votes in counts.items() if votes}


def test_changes_of_a_title_are_the_replays_as_far_as_compaction_has_left_them(drained: Open) -> None:
    bench = drained("ticket-sales")
    records = [record[1:] for of_partition in received(bench).values() for record in of_partition]
    wanted, stores = ticket_sales.replay(records, task_of=lambda key: partition_of(key.encode(), PARTITIONS))
    every = without_times(wanted)
    found = without_times([output for outputs in bench.outputs().values() for output in outputs])
    assert found.keys() == every.keys()
    for title, changes in found.items():
        assert changes[-1] == every[title][-1]
        left = iter(every[title])
        assert all(change in left for change in changes), f"{title}: a change is repeated, wrong or out of order"
    assert {title: changes[-1][2] for title, changes in found.items()} == stores["tickets-sold"]
    assert len(wanted) > 5_000


def without_times(outputs: list[tuple[str, dict[str, Any], int]]) -> dict[str, list[tuple[Any, Any, Any]]]:
    """Give operation, before and after of each title's changes in order; times depend on which sale came first."""
    titles: dict[str, list[tuple[Any, Any, Any]]] = {}
    for title, change, _ in outputs:
        titles.setdefault(title, []).append((change["operation"], change["before"], change["after"]))
    return titles
