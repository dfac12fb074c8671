"""A job that rekeys a stream and joins it with a table. Each result shows whether records were merged by time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forebay.builder import Topology, job

CLICKS, PRICES, RESULTS = "rekeyed-clicks", "rekeyed-prices", "rekeyed-results"
Record = tuple[str, str, str, int]
"""Topic, key, value, timestamp."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


def build(_: Nothing) -> Topology:
    t = Topology()
    prices = t.table(PRICES, str, store="rekeyed-prices")
    by_product = t.stream(CLICKS, str).select_key(lambda _, click: click.partition(" ")[0], str)
    by_product.left_join(prices, lambda click, price: f"{click} {price}", str).to(RESULTS)
    return t


JOB = job(Nothing, build)


def records(begin: int, seconds: int) -> list[Record]:
    """Return a price and two clicks per second, from `begin` (ms) on. A click's value is its product and its time."""
    records: list[Record] = []
    for second in range(seconds):
        at = begin + 1_000 * second
        records.append((PRICES, f"p{second % 7}", str(at), at))
        records += [
            (CLICKS, f"u{(second + item) % 11}", f"p{(second + 3 * item) % 7} {at + item}", at + item)
            for item in (1, 2)
        ]
    return records


def expected_join(given: Iterable[Record]) -> list[str]:
    """Return the expected results for records in time order, sorted."""
    prices: dict[str, str] = {}
    results = []
    for topic, key, value, _ in given:
        if topic == PRICES:
            prices[key] = value
        else:
            results.append(f"{value} {prices.get(value.partition(' ')[0])}")
    return sorted(results)
