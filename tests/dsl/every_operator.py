"""A job that uses every operator of the DSL. Its results do not depend on the number of tasks."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from forebay.builder import Materialized, Topology, ValueTransformer, job
from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses
from forebay.processor import Context, Processor, Timer
from forebay.stores import KeyValueStore, TimestampedKeyValueStore
from forebay.time import SessionWindows, SlidingWindows, UnlimitedWindows, hopping, tumbling, within

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


class Sorted(Processor[str, str]):
    """Forwards an event to an output that depends on another table's store, and a reminder after a delay."""

    stock = TimestampedKeyValueStore("stock", int)

    def process(self, event: str, ctx: Context[str]) -> None:
        left = self.stock.get(ctx.key)
        ctx.forward(event, to="less" if left is None or left.value < 25 else "more")
        ctx.schedule("again", ctx.timestamp + 15)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(f"again at {timer.due}", to="more")


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
    _rekey(clicks)
    payments.select_key(lambda key, paid: f"k{len(paid)}", str).left_join(stock, pair, str).to("rekeyed-join")
    _tables(stock, prices)
    placed = stock.left_join_by_foreign_key(prices, lambda _, left: f"k{left % 5}", pair, str, store="placed")
    placed.to_stream().to("by-foreign-key")
    stock.filter(lambda _, left: left > 20).map_values(lambda _, left: -left, int).to_stream().to("low")
    stock.transform_values(Highest, int, store="highest-stock").to_stream().to("highest")
    groups = stock.group_by(lambda key, left: f"g{left % 3}", str)
    groups.aggregate(SUM, int, store="grouped").to_stream().to("grouped")
    groups.count(store="group-sizes").suppress(UntilTimeLimit(50), store="held").to_stream().to("calm")
    return t


def _rekey(clicks: Any) -> None:
    clicks.map(lambda key, click: (click[:1], key), str, key=str).to("by-letter")
    clicks.flat_map(lambda key, click: [(item, key) for item in click[:2]], str, key=str).to("by-part")
    by_length = clicks.filter_not(lambda key, _: key == "k1").select_key(lambda _, click: len(click), int)
    by_length.map_values(lambda length, click: click * length, str).to("by-length")
    by_length.to_table(store="by-length").to_stream().to("last-of-length")
    in_two = clicks.repartition("in-two", partitions=2).group_by_key()
    in_two.count(store="in-two").to_stream().to("in-two")
    numbered = clicks.repartition("by-number", partitioner=lambda key, _: int(key[1:]) + 1).group_by_key()
    numbered.windowed_by(UnlimitedWindows()).count(store="ever").to_stream().to("ever")
    clicks.join(clicks, pair, str, windows=within(9), store="pairs").to("pairs")
    ways = clicks.process(Sorted, {"more": str, "less": str}, name="sorted", stores=["stock"])
    ways["more"].to("more")
    ways["less"].to("less")


def _tables(stock: Any, prices: Any) -> None:
    stock.outer_join(prices, pair, str).to_stream().to("joined-tables")
    own = stock.join(prices, pair, str).left_join(stock, pair, str)
    own.to_stream().to("joined-thrice")
    high = prices.filter_not(lambda _, price: price < 25).materialized("high", history_retention_ms=200)
    high.to_stream().to("high")
    cheap = stock.join_by_foreign_key(high, lambda _, left: f"k{left % 3}", pair, str, store="cheap")
    cheap.to_stream().to("by-foreign-key-inner")
    reduced = stock.group_by(lambda _, left: left % 4, int)
    reduced.reduce(lambda a, b: a + b, lambda a, b: a - b, store="reduced").to_stream().to("reduced")


def _stateless(clicks: Any, payments: Any) -> None:
    ways = clicks.drop_nulls().filter(lambda key, _: key != "k0").split().branch("long", lambda _, c: len(c) > 2)
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
    both = by_key.cogroup(TEXT).cogroup(payments.group_by_key(), TEXT).windowed_by(hour, Emission.BOTH)
    both.aggregate(str, store="both").to_stream().to("cogrouped-in-windows")
    by_key.windowed_by(SlidingWindows(40, grace_ms=5), Emission.FINAL).reduce(max, store="slid").to_stream().to("slid")
    by_key.windowed_by(SlidingWindows(30)).count(store="sliding").to_stream().to("sliding")
    by_key.windowed_by(SessionWindows(25), Emission.BOTH).aggregate(TEXT, str, store="sessions").to_stream().to(
        "sessions"
    )


JOB = job(Nothing, build)


def records(count: int, seed: int = 1) -> list[tuple[str, str, Any, int]]:
    """Return (topic, key, value, timestamp) by time, at different times. Records of the global table come first."""
    draw = random.Random(seed)
    records: list[tuple[str, str, Any, int]] = [(TOWNS, f"t{n}", f"town-{n}", n) for n in range(9)]
    at = 1_000
    for number in range(count):
        at += draw.choice((1, 2, 3, 7, 30))
        key, topic = f"k{draw.randrange(7)}", draw.choice((CLICKS, CLICKS, PAYMENTS, PRICES, STOCK))
        text = f"{draw.choice('abc')}{number % 13}{'x' * draw.randrange(3)}"
        is_deleted = topic in (PRICES, STOCK) and draw.random() < 0.15
        value = text if topic in (CLICKS, PAYMENTS) else None if is_deleted else draw.randrange(50)
        records.append((topic, key, value, at))
    return records
