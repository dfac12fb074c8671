"""All five services at once on one broker, each killed in mid-work: what they wrote equals independent replays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from replays import REPLAYS, view
from service_bench import ServiceBench

from forebay.platform import Platform
from producers.base import Options

ARGUMENTS = {"windowed-metrics": ("--set", "emit_results=both")}
SMALL_BATCHES = ("--max-records-per-batch", "700", "--tick-ms", "0")
START_MS = 1_735_689_600_000
STEP_MS = 1_200_000


def events(seed: int, start_ms: int) -> Options:
    return Options(
        count=5_000,
        keys=120,
        seed=seed,
        out_of_order=0.1,
        duplicates=0.05,
        malformed=0.02,
        start_ms=start_ms,
        event_rate=5,
        max_delay_ms=30_000,
    )


@pytest.fixture
def benches(platform: Platform, tmp_path: Path) -> Iterator[dict[str, ServiceBench]]:
    benches = {name: ServiceBench(platform, name, f"all-{name}", tmp_path, ARGUMENTS.get(name, ())) for name in REPLAYS}
    yield benches
    for bench in benches.values():
        bench.close()


@pytest.mark.timeout(900)
def test_five_jobs_side_by_side_are_exact_although_each_is_killed(benches: dict[str, ServiceBench]) -> None:
    for bench in benches.values():
        bench.produce(events(21, START_MS))
        job = bench.job(*SMALL_BATCHES)
        job.until(lambda job=job: len(job.batches()) >= 2, "two batches are through")  # type: ignore[misc]
        job.kill()
        assert not bench.has_read_everything(), "the kill came too late to interrupt anything"

    jobs = {}
    for name, bench in benches.items():
        jobs[name] = bench.job(*SMALL_BATCHES)
        jobs[name].until_batch()
    for bench in benches.values():
        bench.produce(events(22, START_MS + STEP_MS))
    for name, bench in benches.items():
        jobs[name].until(bench.has_read_everything, "everything is read")
    for name, bench in benches.items():
        assert jobs[name].terminate() == 0, jobs[name].text()
        check(name, bench)


def check(name: str, bench: ServiceBench) -> None:
    """Compare everything a service wrote with the replay of everything it was sent."""
    received = bench.received()
    replayed = REPLAYS[name](received.records)
    found = view(name, bench.outputs())
    assert found.keys() == {key for key, outputs in replayed.outputs.items() if outputs} | found.keys()
    for key, wanted in replayed.outputs.items():
        for index, (ours, theirs) in enumerate(zip(found.get(key, []), wanted, strict=False)):
            assert ours == theirs, f"{name}: output {index} of {key} differs"
        assert len(found.get(key, [])) == len(wanted), f"{name}: {key} has another number of outputs"
    assert sum(map(len, replayed.outputs.values())) > 1_000, f"{name}: the input gives too few outputs to tell"
    for store, values in replayed.stores.items():
        rows = [value for part in bench.changelog(store).values() for value in part.values()]
        assert ordered(rows) == ordered(values), f"{name}: the store {store} differs"
        assert values, f"{name}: the input leaves the store {store} empty"
    refused = bench.check_errors(received.unusable)
    assert {dict(message.headers() or [])["error.stage"] for message in refused} <= {b"process"}
    assert len(received.unusable) > 100
    if replayed.late is not None:
        assert len(bench.late()) == replayed.late


def ordered(values: list[Any]) -> list[Any]:
    """Give values in an order that does not depend on where they came from."""
    return sorted(values, key=lambda value: repr(sorted(value.items())))
