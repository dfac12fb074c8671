"""A processor in a topology can use headers, null keys, the wall clock and shared stores."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, TopologyError, ValueTransformer
from forebay.processor import NO_KEY, Context, Processor
from forebay.stores import KeyValueStore, TimestampedKeyValueStore, WindowStore
from tests.dsl.driving import Driven


class Marking(Processor[str, str]):
    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(event, headers=[*ctx.headers, ("seen", b"1")])


def test_headers_set_by_a_processor_pass_through_repartitions() -> None:
    def build(t: Topology) -> None:
        marked = t.stream("in", str).process(Marking, str, name="marking")
        marked.map_values(lambda _, v: v.upper(), str).repartition("again").to("out")

    run = Driven(build, tasks=2)
    run.driver.pipe("k", "v", "in", 1, [("from", b"0")])
    (sent,) = run.driver.outputs
    assert (sent.value, sent.headers) == ("V", (("from", b"0"), ("seen", b"1")))


def test_a_null_key_stays_null() -> None:
    run = Driven(lambda t: t.stream("in", str).select_key(lambda _, __: None, str).repartition("by").to("out"))
    assert run.pipe("in", "k", "v", 1) == [(None, "v", 1)]


class Keyless(Processor[str, str]):
    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(event, key=NO_KEY)


def test_a_processor_sends_without_a_key() -> None:
    run = Driven(lambda t: t.stream("in", str).process(Keyless, str, name="keyless").to("out"))
    assert run.pipe("in", "k", "v", 1) == [(None, "v", 1)]


class Ticking(Processor[str, str]):
    """Forwards the number of records of each key at a wall-clock interval."""

    def __init__(self, interval_ms: int, store: str) -> None:
        self.wall_clock_interval_ms = interval_ms
        self.seen = KeyValueStore(store, int)

    def process(self, event: str, ctx: Context[str]) -> None:
        self.seen.put(ctx.key, (self.seen.get(ctx.key) or 0) + 1)

    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        for key, count in self.seen.all():
            ctx.forward(f"{count} of {ctx.key} at {now}", key=key)


def test_processors_are_called_by_the_wall_clock_each_at_its_own_interval() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.process(lambda: Ticking(20, "often"), str, name="often").to("often")
        words.process(lambda: Ticking(50, "seldom"), str, name="seldom").to("seldom")

    run = Driven(build, clock=1_000)
    run.pipe("in", "k", "v", 7)
    for _ in range(10):
        run.idle(10)
    assert [at for _, _, at in run.by_topic("often")] == [1_020, 1_040, 1_060, 1_080, 1_100]
    assert run.by_topic("seldom") == [("k", f"1 of None at {at}", at) for at in (1_050, 1_100)]


class Counting(Processor[str, int]):
    counts = KeyValueStore("counts", int)

    def process(self, event: str, ctx: Context[int]) -> None:
        self.counts.put(ctx.key, (self.counts.get(ctx.key) or 0) + 1)


class Asking(Processor[str, str]):
    counts = KeyValueStore("counts", int)
    prices = TimestampedKeyValueStore("prices", int)

    def process(self, event: str, ctx: Context[str]) -> None:
        price = self.prices.get(ctx.key)
        ctx.forward(f"{self.counts.get(ctx.key)} at {None if price is None else price.value}")


def test_processors_share_stores_with_each_other_and_with_tables() -> None:
    def build(t: Topology) -> None:
        t.table("prices", int, store="prices")
        t.stream("counted", str).process(Counting, int, name="counting")
        t.stream("asked", str).process(Asking, str, name="asking", stores=["counts", "prices"]).to("out")

    run = Driven(build, tasks=3)
    run.feed("counted", ("k", "a", 1), ("j", "a", 2), ("k", "b", 3))
    run.pipe("prices", "k", 5, 4)
    assert run.pipe("asked", "k", "?", 5) == [("k", "2 at 5", 5)]
    assert run.pipe("asked", "j", "?", 5) == [("j", "1 at None", 5)]
    assert len(run.job.topology) == 1, "processors that share a store run in one sub-topology"


class Placing(Processor[str, str]):
    towns = KeyValueStore("towns", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(f"{event} in {self.towns.get(event)}")


def test_processor_reads_a_global_table_in_any_sub_topology() -> None:
    def build(t: Topology) -> None:
        t.global_table("towns", str, store="towns")
        words = t.stream("in", str)
        words.process(Placing, str, name="first", stores=["towns"]).to("first")
        later = words.select_key(lambda _, word: word, str).repartition("later")
        later.process(Placing, str, name="second", stores=["towns"]).to("second")

    run = Driven(build, tasks=3)
    run.feed("towns", ("anna", "rome", 1))
    run.feed("in", ("a", "anna", 2), ("b", "anna", 3))
    assert run.by_topic("first") == [("a", "anna in rome", 2), ("b", "anna in rome", 3)]
    assert run.by_topic("second") == [("anna", "anna in rome", 2), ("anna", "anna in rome", 3)]


class Windows(Processor[str, str]):
    counts: Any = WindowStore("counts", int, size_ms=5, retention_ms=5)

    def process(self, event: str, ctx: Context[str]) -> None: ...


@pytest.mark.parametrize(
    ("make", "stores", "said"),
    [
        (Counting, ["other"], "the store other can't be shared: no node before this one has it"),
        (Marking, ["counts"], "the store counts can't be shared: has no attribute that declares it"),
        (Windows, ["counts"], "has the store counts as key-value of long, the Windows as window"),
    ],
)
def test_stores_that_cant_be_shared_are_refused(make: Any, stores: list[str], said: str) -> None:
    t = Topology()
    words = t.stream("in", str)
    words.process(Counting, int, name="counting")
    with pytest.raises(TopologyError, match=rf"test_processor_surroundings.py:\d+: process second: .*{said}"):
        words.process(make, str, name="second", stores=stores)


def test_a_store_of_other_keys_cant_be_shared() -> None:
    t = Topology()
    t.stream("in", str).process(Counting, int, name="counting")
    with pytest.raises(TopologyError, match=r"the store counts holds text keys, this stream long: .*select_key"):
        t.stream("numbers", str, key=int).process(Counting, int, name="second", stores=["counts"])


def test_two_processors_of_one_name_are_refused() -> None:
    t = Topology()
    words = t.stream("in", str)
    words.process(Marking, str, name="one")
    with pytest.raises(TopologyError, match=r"process one: the name is used at .* choose another name with name="):
        words.process(Marking, str, name="one")


class Rising(ValueTransformer[str, int, str]):
    """Transforms a price to a text with the highest price so far. A deleted price becomes "... is gone"."""

    highest = KeyValueStore("highest", int)

    def transform(self, key: str, value: int | None, ctx: Context[Any]) -> str | None:
        if value is None:
            return None if key == "unknown" else f"{key} is gone"
        before = self.highest.get(key) or 0
        self.highest.put(key, max(before, value))
        return f"{value} of at most {max(before, value)} (offset {ctx.offset})"


def test_transform_values_keeps_state_and_its_rows_are_a_table() -> None:
    def build(t: Topology) -> None:
        prices = t.table("prices", int, store="prices").transform_values(Rising, str, store="rising")
        prices.to_stream().to("out")
        prices.group_by(lambda _, text: text.split()[-1], str).count(store="n").to_stream().to("counts")
        t.stream("asked", str).join(prices, lambda _, text: text, str).to("answers")

    run = Driven(build, tasks=2)
    run.feed("prices", ("k", 9, 1), ("k", 5, 2), ("k", None, 3), ("unknown", None, 4))
    assert run.by_topic("out") == [
        ("k", "9 of at most 9 (offset 0)", 1),
        ("k", "5 of at most 9 (offset 1)", 2),
        ("k", "k is gone", 3),
    ]
    assert run.by_topic("counts") == [("0)", 1, 1), ("0)", 0, 2), ("1)", 1, 2), ("1)", 0, 3), ("gone", 1, 3)]
    assert run.pipe("asked", "k", "?", 5) == [("k", "k is gone", 5)]
    assert run.driver.store("rising")["k"].value == "k is gone"


class Forwarding(ValueTransformer[str, int, str]):
    def transform(self, key: str, value: int | None, ctx: Context[Any]) -> str | None:
        ctx.forward("x")
        return None


def test_a_transformer_forwards_nothing() -> None:
    run = Driven(
        lambda t: t.table("prices", int, store="p").transform_values(Forwarding, str, store="s").to_stream().to("out")
    )
    run.driver.pipe("k", 1, "prices")
    assert "return the value, or use to_stream().process()" in run.driver.errors[0].headers["error.message"]
