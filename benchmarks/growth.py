"""CPU time per event at the beginning and at the end of a long history, which shows whether it grows with the history.

    python -m benchmarks.growth [--scale 1.0] [--only TEXT]

The loop of one task runs on the test driver, without broker and Spark. Each line contains both CPU times, which include
encoding, their ratio, and the size of the state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from click import command as click_command
from click import option

from forebay.builder import Topology, job
from forebay.catalog import all_services
from forebay.job import Job
from forebay.operators import Emission
from forebay.testing import TestDriver
from forebay.time import tumbling, within
from order_stores.model import OrderEvent
from session_analytics.model import PageMetadata, UserClick
from windowed_metrics.model import ServerMetric

SERVICES = all_services()

Events = Iterator[tuple[str, str, Any, int]]
"""Topic, key, value, timestamp."""

START_MS = 1_735_689_600_000
BATCH = 10_000
WARM = 2
"""Number of first batches that are not measured, in which caches are filled."""


def pairs(count: int) -> Events:
    """Yield measurements of `count` pairs (server, metric) in turn, three times, all within one window."""
    for number in range(3 * count):
        at = START_MS + number * 240_000 // (3 * count)
        server, metric = divmod(number % count, 10)
        value = ServerMetric(f"m{number}", f"metric-{metric}", number % 97, "ms", at)
        yield "server_metrics", f"server-{server}", value, at


def click(number: int, at: int, url: str, page: PageMetadata | None = None) -> tuple[str, str, Any, int]:
    """Return a click of one user."""
    value = UserClick(f"c{number}", "ann", url, 5, at, number, "agent", None, None, None, page)
    return "user_clicks", "ann", value, at


def session(clicks: int) -> Events:
    """Yield one session with the number of clicks, which are 100 ms apart."""
    for number in range(clicks):
        page = PageMetadata(f"category-{number % 300}")
        yield click(number, START_MS + 100 * number, f"/{number % 300}", page)


def sessions(count: int) -> Events:
    """Yield the number of sessions of one user, with one click each."""
    for number in range(count):
        yield click(number, START_MS + 31_000 * number, "/")


def orders(count: int) -> Events:
    """Yield orders of one product and one customer, which are created and paid."""
    for number in range(count):
        for step, status in enumerate(("created", "paid")):
            at = START_MS + 10 * number + step
            value = OrderEvent(f"e{number}-{step}", f"o{number}", status, "lamp", 1, 9.5, "ann", at)
            yield "order_events", f"o{number}", value, at


def both_sides(count: int) -> Events:
    """Yield the number of records of two streams in turn, with different keys, all within the windows of the join."""
    for number in range(count):
        yield ("left", "right")[number % 2], f"key-{number}", "value", START_MS + number


def clicks(count: int) -> Events:
    """Yield records of the number of keys in turn, twice, all within one window."""
    for number in range(2 * count):
        yield "left", f"key-{number % count}", "value", START_MS + number // 2


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings without fields."""


def join_streams(_: NoSettings) -> Topology:
    """Return a join of two streams within an hour, whose stores contain both sides during the hour."""
    t = Topology()
    left, right = t.stream("left", str), t.stream("right", str)
    hour = within(3_600_000)
    left.outer_join(right, lambda one, other: f"{one}{other}", str, windows=hour, store="joined").to("joined")
    return t


def count_windows(_: NoSettings) -> Topology:
    """Return a count by key and hour, whose results are emitted at the end of the hour."""
    t = Topology()
    counts = t.stream("left", str).group_by_key().windowed_by(tumbling(3_600_000), Emission.FINAL).count(store="counts")
    counts.to_stream().to("counts")
    return t


DESCRIBED: Mapping[str, Job] = {
    "stream-stream join (DSL)": job(NoSettings, join_streams),
    "windowed table (DSL)": job(NoSettings, count_windows),
}


@dataclass(frozen=True, slots=True)
class History:
    """A long history of events for a service or for a job of this module."""

    service: str
    what: str
    size: int
    events: Callable[[int], Events]


HISTORIES = (
    History("windowed-metrics", "(server, metric) pairs", 1_000_000, pairs),
    History("session-analytics", "clicks of one session", 100_000, session),
    History("session-analytics", "sessions of one user", 100_000, sessions),
    History("order-stores", "orders of one customer and one product", 100_000, orders),
    History("stream-stream join (DSL)", "open records", 1_000_000, both_sides),
    History("windowed table (DSL)", "open windows", 1_000_000, clicks),
)


@click_command()
@option("--scale", default=1.0, help="Part of each history's full size.")
@option("--only", default="", help="Run the histories whose names hold this text.")
def main(scale: float, only: str) -> None:
    """Run the benchmark."""
    for history in HISTORIES:
        if only not in f"{history.service}: {history.what}":
            continue
        size = int(history.size * scale)
        costs, rows, size_bytes = run(history.service, history.events(size))
        measured = costs[WARM:] or costs
        tenth = max(1, len(measured) // 10)
        first, last = sum(measured[:tenth]) / tenth, sum(measured[-tenth:]) / tenth
        print(
            f"{history.service}: {size:,} {history.what}: {first:.1f} us CPU per event at first, {last:.1f} at last "
            f"({last / first:.2f} x); state {rows:,} rows, {size_bytes / 2**20:.1f} MiB"
        )


def run(service: str, events: Events) -> tuple[list[float], int, int]:
    """Process the events in batches. Return each batch's CPU time per event (µs), and the state's rows and bytes."""
    driver = TestDriver(service if service in SERVICES else DESCRIBED[service])
    costs = []
    while batch := list(islice(events, BATCH)):
        begun = time.process_time()
        driver.pipe_all(batch)
        costs.append((time.process_time() - begun) / len(batch) * 1e6)
        driver.outputs.clear()
    tables = [table for sub_topology in driver.sub_topologies for table in sub_topology.tables]
    return costs, sum(map(len, tables)), sum(table.size_bytes for table in tables)


if __name__ == "__main__":
    main(standalone_mode=False)
