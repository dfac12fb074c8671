"""Does the cost of an event grow with history? One task's engine, no broker, no Spark.

    python -m benchmarks.growth [--scale 1.0]

Each line tells the CPU per event at the beginning and at the end of a long history (the ratio is the answer), and what
its state takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from forebay.catalog import find_service
from forebay.job import load_job
from forebay.processor.engine import EngineSettings
from forebay.testing.driver import PipedRecord
from forebay.testing.stages import StageTasks
from order_stores.model import OrderEvent
from session_analytics.model import PageMetadata, UserClick
from windowed_metrics.model import ServerMetric

START_MS = 1_735_689_600_000
BATCH = 10_000
WARM = 2
"""Batches before the beginning: caches fill."""


def pairs(count: int) -> Iterator[tuple[str, Any]]:
    """Give measurements of `count` (server, metric) pairs in turn, all within one window, three times."""
    for number in range(3 * count):
        at = START_MS + number * 240_000 // (3 * count)
        server, metric = divmod(number % count, 10)
        yield f"server-{server}", ServerMetric(f"m{number}", f"metric-{metric}", number % 97, "ms", at)


def session(clicks: int) -> Iterator[tuple[str, Any]]:
    """Give one session of that many clicks, 100 ms apart."""
    for number in range(clicks):
        page = PageMetadata(f"category-{number % 300}")
        yield (
            "ann",
            UserClick(
                f"c{number}",
                "ann",
                f"/{number % 300}",
                5,
                START_MS + 100 * number,
                number,
                "agent",
                None,
                None,
                None,
                page,
            ),
        )


def sessions(count: int) -> Iterator[tuple[str, Any]]:
    """Give that many sessions of one user, one click each."""
    for number in range(count):
        yield "ann", UserClick(f"c{number}", "ann", "/", 5, START_MS + 31_000 * number, number, "agent")


def orders(count: int) -> Iterator[tuple[str, Any]]:
    """Give orders of one product and one customer, created and paid."""
    for number in range(count):
        for step, status in enumerate(("created", "paid")):
            at = START_MS + 10 * number + step
            yield (
                f"o{number}",
                OrderEvent(f"e{number}-{step}", f"o{number}", status, "lamp", 1, 9.5, "ann", at),
            )


@dataclass(frozen=True, slots=True)
class History:
    """A long history for a service."""

    service: str
    what: str
    size: int
    events: Callable[[int], Iterator[tuple[str, Any]]]


HISTORIES = (
    History("windowed-metrics", "(server, metric) pairs", 1_000_000, pairs),
    History("session-analytics", "clicks of one session", 100_000, session),
    History("session-analytics", "sessions of one user", 100_000, sessions),
    History("order-stores", "orders of one customer and one product", 100_000, orders),
)


@click.command()
@click.option("--scale", default=1.0, help="Part of each history's full size.")
def main(scale: float) -> None:
    """Measure."""
    for history in HISTORIES:
        size = int(history.size * scale)
        costs, rows, size_bytes = run(history.service, history.events(size))
        measured = costs[WARM:] or costs
        tenth = max(1, len(measured) // 10)
        first, last = sum(measured[:tenth]) / tenth, sum(measured[-tenth:]) / tenth
        print(
            f"{history.service}: {size:,} {history.what}: {first:.1f} us CPU per event at first, {last:.1f} at last "
            f"({last / first:.2f} x); state {rows:,} rows, {size_bytes / 2**20:.1f} MiB"
        )


def run(service: str, events: Iterator[tuple[str, Any]]) -> tuple[list[float], int, int]:
    """Process the events in batches; give each batch's CPU microseconds per event, rows and bytes of the state."""
    entry = find_service(service)
    job = load_job(entry.job)
    settings, engine = job.settings(), EngineSettings(service=service)
    stages = [StageTasks(entry, job, number, settings, 1, engine) for number in range(entry.stages)]
    topic = next(iter(job.inputs))
    encode = stages[0].codecs.inputs[topic].encode
    costs = []
    number = 0
    while batch := [PipedRecord(topic, 0, k.encode(), encode(e), e.timestamp, []) for k, e in islice(events, BATCH)]:
        streams: Any = [[batch]]
        begun = time.process_time()
        for index, stage in enumerate(stages):
            results = stage.run(streams, 1 << 52, 0, number)
            if index + 1 < len(stages):
                streams = stage.after(results, stages[index + 1].name)
        costs.append((time.process_time() - begun) / len(batch) * 1e6)
        number += 1
    tables = [table for stage in stages for table in stage.tables]
    return costs, sum(map(len, tables)), sum(table.size_bytes for table in tables)


if __name__ == "__main__":
    main(standalone_mode=False)
