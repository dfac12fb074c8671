"""A job that uses every operator of the DSL, on text and numbers: what one task makes of its input, three make too."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from forebay.builder import Materialized, Topology, ValueTransformer, job
from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses
from forebay.processor import Context, Processor
from forebay.stores import KeyValueStore
from forebay.time import SessionWindows, SlidingWindows, hopping, tumbling, within

TASKS = 3
CLICKS, PAYMENTS, PRICES, STOCK, TOWNS = INPUTS = ("any-clicks", "any-payments", "any-prices", "any-stock", "any-towns")
TEXT: Fold[Any, str] = Fold(
    lambda: "",
    lambda _, value, text: f"{text}{value}"[-40:],
    lambda _, value, text: text.replace(str(value), "", 1),
    lambda _, one, two: (one + two)[-40:],
)
SUM: Fold[int, int] = Fold(lambda: 0, lambda _, n, total: total + n, lambda _, n, total: total - n)


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


class Before(Processor[str, str]):
    seen = KeyValueStore("seen", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(f"{self.seen.get(ctx.key)}>{event}", headers=[("by", b"before")])
        self.seen.put(ctx.key, event)


class Highest(ValueTransformer[str, int, int]):
    highest = KeyValueStore("highest", int)

    def transform(self, key: str, value: int | None, ctx: Context[Any]) -> int | None:
        if value is None:
            return None
        self.highest.put(key, max(value, self.highest.get(key) or 0))
        return self.highest.get(key)


def pair(one: Any, other: Any) -> str:
    return f"{one}+{other}"


def build(_: Nothing) -> Topology:
    t = Topology()
    clicks, payments = t.stream(CLICKS, str), t.stream(PAYMENTS, str)
    _stateless(clicks, payments)
    _aggregates(clicks, payments)
    prices = t.table(PRICES, int, store="prices", history_retention_ms=500)
    stock = t.table(STOCK, int, store=Materialized("stock", persistent=True))
    towns = t.global_table(TOWNS, str, store="towns")
    join: Any = {"windows": within(40, grace_ms=20)}
    clicks.join(payments, pair, str, **join, store="paid").to("joined-streams")
    clicks.left_join(payments, pair, str, **join, store="unpaid").to("left-streams")
    clicks.outer_join(payments, pair, str, **join, store="either").to("outer-streams")
    clicks.join(prices, pair, str).to("as-of")
    clicks.left_join(prices, pair, str, grace_ms=100, waiting="late-prices").to("as-of-later")
    clicks.join(towns, pair, str, key_of=lambda _, click: f"t{len(click)}").to("in-town")
    again = stock.to_stream().repartition("stock-again").to_table(store="stock-again")
    payments.select_key(lambda key, paid: f"k{len(paid)}", str).left_join(again, pair, str).to("rekeyed-join")
    stock.outer_join(prices, pair, str).to_stream().to("joined-tables")
    placed = stock.left_join_by_foreign_key(prices, lambda _, left: f"k{left % 5}", pair, str, store="placed")
    placed.to_stream().to("by-foreign-key")
    stock.filter(lambda _, left: left > 20).map_values(lambda _, left: -left, int).to_stream().to("low")
    stock.transform_values(Highest, int, store="highest-stock").to_stream().to("highest")
    groups = stock.group_by(lambda key, left: f"g{left % 3}", str)
    groups.aggregate(SUM, int, store="grouped").to_stream().to("grouped")
    groups.count(store="group-sizes").suppress(UntilTimeLimit(50), store="held").to_stream().to("calm")
    return t


def _stateless(clicks: Any, payments: Any) -> None:
    ways = clicks.filter(lambda key, _: key != "k0").split().branch("long", lambda _, c: len(c) > 2)
    branches = ways.default_branch("short")
    branches["long"].merge(payments).flat_map_values(lambda _, v: list(v), str).to("letters")
    branches["short"].to(lambda key, _: "odd" if key in ("k1", "k3") else "even", topics=["odd", "even"])
    clicks.process_values(Before, str, name="before").to("before")
    clicks.deduplicate(lambda _, click: click, store="unique", ttl_ms=200).to("new")


def _aggregates(clicks: Any, payments: Any) -> None:
    by_key, by_click = clicks.group_by_key(), clicks.group_by(lambda _, click: click[:1], str)
    by_click.count(store="by-click").to_stream().to("counts")
    by_key.reduce(max, store=Materialized("largest", logging=True)).to_stream().to("largest")
    by_key.cogroup(TEXT).cogroup(payments.group_by_key(), TEXT).aggregate(str, store="all").to_stream().to("cogrouped")
    hour = tumbling(100, grace_ms=20)
    by_key.windowed_by(hour, Emission.FINAL).aggregate(TEXT, str, store="finals").to_stream().to("finals")
    counts = by_click.windowed_by(hopping(100, 50)).count(store="hops")
    counts.suppress(UntilWindowCloses(hopping(100, 50)), store="hops-held").to_stream().to("suppressed")
    by_key.windowed_by(SlidingWindows(30)).count(store="sliding").to_stream().to("sliding")
    by_key.windowed_by(SessionWindows(25), Emission.BOTH).aggregate(TEXT, str, store="sessions").to_stream().to(
        "sessions"
    )


JOB = job(Nothing, build)


def records(count: int, seed: int = 1) -> list[tuple[str, str, Any, int]]:
    """Return (topic, key, value, timestamp) in order of time, each at a time of its own; the global table's first."""
    draw = random.Random(seed)
    found: list[tuple[str, str, Any, int]] = [(TOWNS, f"t{n}", f"town-{n}", n) for n in range(9)]
    at = 1_000
    for number in range(count):
        at += draw.choice((1, 2, 3, 7, 30))
        key, topic = f"k{draw.randrange(7)}", draw.choice((CLICKS, CLICKS, PAYMENTS, PRICES, STOCK))
        text = f"{draw.choice('abc')}{number % 13}{'x' * draw.randrange(3)}"
        is_deleted = topic in (PRICES, STOCK) and draw.random() < 0.15
        value = text if topic in (CLICKS, PAYMENTS) else None if is_deleted else draw.randrange(50)
        found.append((topic, key, value, at))
    return found
