"""An edit that changes the format of a store's values, keys or windows is refused, except for fields read by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay import Fold
from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.formats import INT, LONG, no_contracts, simple
from forebay.processor import Context, Processor, Timer
from forebay.records import Record
from forebay.runtime.errors import StoreChanged
from forebay.serde.json_format import JSON, json_of
from forebay.serde.key_formats import composite
from forebay.stores import KeyValueStore, WindowStore
from forebay.stores.layouts import PREFIX
from forebay.testing import TestDriver
from forebay.time.base import Window, Windows
from forebay.time.sessions import SessionWindows
from forebay.time.windows import SlidingWindows, UnlimitedWindows, hopping, tumbling

Edit = Callable[[Topology], None]
LONG_CODEC = LONG.codec(no_contracts)
REFUSAL = (
    r"store x(-subscriptions)? holds ((rows|keys) .*, but is|rows from before an edit)"
    r".*another name.*`forebay reset"
)


class Place(Record):
    town: str
    number: int


class Town(Record):
    name: str
    number: int


class Spot(Record):
    number: int
    town: str


class Score(Record):
    n: int


class Level(Record):
    n: int
    name: str = "new"


class Rating(Record):
    n: int
    note: str | None = None


def count_by(key: Any, key_of: Callable[[str], Any]) -> Edit:
    return lambda t: (
        t.stream("s", str).group_by(lambda _, value: key_of(value), key).count(store="x").to_stream().to("o")
    )


def fold(into: Any, first: Any) -> Edit:
    same: Fold[str, Any] = Fold(lambda: first, lambda _key, _value, aggregate: aggregate)
    return lambda t: t.stream("s", str).group_by_key().aggregate(same, into, store="x").to_stream().to("o")


def windows(by: Any) -> Edit:
    def edit(t: Topology) -> None:
        grouped = t.stream("s", str).group_by_key().windowed_by(by)
        grouped.count(store="x", retention_ms=0 if isinstance(by, UnlimitedWindows) else 100_000).to_stream().to("o")

    return edit


def deduplicate(key: Any, key_of: Callable[[str], Any]) -> Edit:
    return lambda t: (
        t.stream("s", str)
        .select_key(lambda _, value: key_of(value), key)
        .repartition("r")
        .deduplicate(lambda _, value: value, store="x", ttl_ms=100_000)
        .to("o")
    )


def by_foreign_key(key: Any) -> Edit:
    def edit(t: Topology) -> None:
        orders, customers = t.table("s", str, store="orders"), t.table("customers", str, key=key, store="customers")
        joined = orders.left_join_by_foreign_key(
            customers, lambda _, value: int(value), lambda order, _: order, str, store="x"
        )
        joined.to_stream().to("o")

    return edit


def count_in(name: str = "r", **partitions: Any) -> Edit:
    return lambda t: (
        t.stream("s", str).repartition(name, **partitions).group_by_key().count(store="x").to_stream().to("o")
    )


def windows_in(**partitions: Any) -> Edit:
    return lambda t: (
        t.stream("s", str)
        .repartition("r", **partitions)
        .group_by_key()
        .windowed_by(tumbling(10_000))
        .count(store="x")
        .to_stream()
        .to("o")
    )


def first(_key: Any, _value: Any) -> int:
    return 0


@dataclass(frozen=True)
class Weeks(Windows):
    """Windows of one size that start at multiples of the size after `first`."""

    size_ms: int
    first: int = 0
    grace_ms: int = 0

    def windows_for(self, ts: int) -> list[Window]:
        start = ts - (ts - self.first) % self.size_ms
        return [Window(start, start + self.size_ms)]


Rows = list[tuple[bytes, bytes]]


def start(before: Edit, after: Edit, left: Callable[[Rows], Rows] = lambda rows: rows) -> list[Any]:
    """Run a topology, then the edited one on its state (changed by `left`). Return the outputs of the edited one."""

    def driver_of(edit: Edit) -> TestDriver:
        def build(_: object) -> Topology:
            topology = Topology()
            edit(topology)
            return topology

        return TestDriver(job(NoSettings, build), tasks=1)

    old, new = driver_of(before), driver_of(after)
    old.pipe("k", "12", "s", 1_000)
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    new.restore({task.place: (left(list(task.table.scan(b""))), task.position) for task in tasks})
    new.pipe("k", "12", "s", 2_000)
    assert not new.errors
    return [output.value for output in new.outputs]


LONG_KEYS = count_by(int, int)
REFUSED: dict[str, tuple[Edit, Edit]] = {
    "numbers as numbers of another form": (fold(int, 1), fold(float, 1.0)),
    "numbers as text": (fold(int, 1), fold(str, "1")),
    "text as numbers": (fold(str, "12345678"), fold(int, 1)),
    "JSON as numbers": (fold(JSON, "123456"), fold(int, 1)),
    "text keys as numbers": (count_by(str, str), LONG_KEYS),
    "number keys as text": (LONG_KEYS, count_by(str, str)),
    "number keys of another width": (LONG_KEYS, count_by(INT, int)),
    "fields of a key in another order": (
        count_by(composite(Place), lambda value: Place(town=value, number=1)),
        count_by(composite(Spot), lambda value: Spot(town=value, number=1)),
    ),
    "JSON of a field that is no number": (fold(JSON, {"n": "x"}), fold(json_of(Score), Score(n=1))),
    "a field less in JSON of a class": (fold(json_of(Rating), Rating(n=5)), fold(json_of(Score), Score(n=0))),
    "windows of one's own": (windows(tumbling(10_000)), windows(Weeks(10_000))),
    "windows of one's own with other starts": (windows(Weeks(10_000)), windows(Weeks(10_000, first=3_000))),
    "a format of one's own": (fold(int, 1), fold(simple("own", int, LONG_CODEC.encode, LONG_CODEC.decode), 1)),
    "ids by keys of another form": (
        deduplicate(LONG, int),
        deduplicate(INT, int),
    ),
    "foreign keys of another form": (by_foreign_key(LONG), by_foreign_key(INT)),
    "a number of partitions": (count_in(), count_in(partitions=1)),
    "another number of partitions": (count_in(partitions=3), count_in(partitions=1)),
    "no number of partitions": (count_in(partitions=1), count_in()),
    "a partitioner": (count_in(), count_in(partitioner=first)),
    "another number of partitions behind a partitioner": (
        count_in(partitioner=first, partitions=2),
        count_in(partitioner=first, partitions=3),
    ),
    "windows in another number of partitions": (windows_in(), windows_in(partitions=1)),
    "sliding windows": (windows(tumbling(10_000)), windows(SlidingWindows(10_000))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_with_an_incompatible_format_are_refused_at_the_start(case: str) -> None:
    with pytest.raises(StoreChanged, match=REFUSAL):
        start(*REFUSED[case])


KEPT: dict[str, tuple[Edit, Edit, Any]] = {
    "as it was": (LONG_KEYS, LONG_KEYS, 2),
    "a field more in JSON": (fold(json_of(Score), Score(n=5)), fold(json_of(Rating), Rating(n=0)), Rating(n=5)),
    "a field more in JSON, with a default": (
        fold(json_of(Score), Score(n=5)),
        fold(json_of(Level), Level(n=0)),
        Level(n=5, name="new"),
    ),
    "fields of a key with other names": (
        count_by(composite(Place), lambda value: Place(town=value, number=1)),
        count_by(composite(Town), lambda value: Town(name=value, number=1)),
        2,
    ),
    "windows of one's own that accept records for longer": (
        windows(Weeks(10_000)),
        windows(Weeks(10_000, grace_ms=5_000)),
        2,
    ),
    "windows that accept records for longer": (
        windows(tumbling(10_000)),
        windows(tumbling(10_000, grace_ms=5_000)),
        2,
    ),
    "hopping windows with other steps": (windows(hopping(10_000, 10_000)), windows(hopping(10_000, 5_000)), 2),
    "as many partitions as before": (count_in(partitions=3), count_in(partitions=3), 2),
    "a renamed repartition with a partitioner": (count_in(partitioner=first), count_in("q", partitioner=first), 2),
    "sessions with another gap": (windows(SessionWindows(5_000)), windows(SessionWindows(9_000)), 2),
}


@pytest.mark.parametrize("case", KEPT)
def test_rows_with_a_compatible_format_are_kept(case: str) -> None:
    before, after, last = KEPT[case]
    assert start(before, after)[-1] == last


def without_formats(rows: Rows) -> Rows:
    return [row for row in rows if not row[0].startswith(PREFIX)]


def test_rows_of_a_release_that_recorded_no_formats_are_taken_over() -> None:
    assert start(LONG_KEYS, LONG_KEYS, without_formats) == [2]


class Counting(Processor[str, int]):
    """Counts events by the stream's keys, in the processor's own store."""

    counts = KeyValueStore("x", int)

    def process(self, event: str, ctx: Context[int]) -> None:
        key: Any = ctx.key
        count = (self.counts.get(key) or 0) + 1
        self.counts.put(key, count)
        ctx.forward(count)


def count_in_a_processor(key: Any, key_of: Callable[[str], Any], processor: Any = Counting) -> Edit:
    return lambda t: (
        t.stream("s", str).select_key(lambda _, value: key_of(value), key).process(processor, int, name="p").to("o")
    )


BY_TEXT, BY_LONG = count_in_a_processor(str, str), count_in_a_processor(int, int)


def test_a_processors_store_with_keys_of_another_format_is_refused() -> None:
    assert start(BY_LONG, BY_LONG) == [2]
    for other in (BY_TEXT, count_in_a_processor(INT, int)):
        with pytest.raises(StoreChanged, match=REFUSAL):
            start(BY_LONG, other)


class CountingTexts(Counting):
    """Counts events by their text."""

    def process(self, event: str, ctx: Context[int]) -> None:
        count = (self.counts.get(event) or 0) + 1
        self.counts.put(event, count)
        ctx.forward(count)


class CountingInWindows(Processor[str, int]):
    """Counts events in a window store, whose rows begin with a time."""

    counts = WindowStore("x", int, size_ms=100_000, retention_ms=100_000)
    is_text = True

    def process(self, event: str, ctx: Context[int]) -> None:
        key: Any = event if self.is_text else ctx.key
        entry = self.counts.fetch_one(key, 0)
        count = 1 if entry is None else entry.value + 1
        self.counts.put(key, count, 0)
        ctx.forward(count)


class CountingKeysInWindows(CountingInWindows):
    is_text = False


@pytest.mark.parametrize("processor", [CountingTexts, CountingInWindows])
def test_processor_store_with_only_text_keys_is_kept(processor: Any) -> None:
    numbers, narrower, texts = (
        count_in_a_processor(key, of, processor) for key, of in ((int, int), (INT, int), (str, str))
    )
    assert start(numbers, narrower) == [2]
    assert start(numbers, texts) == [2]


def test_a_processors_window_store_with_keys_of_another_format_is_refused() -> None:
    before, after = (count_in_a_processor(key, int, CountingKeysInWindows) for key in (int, INT))
    with pytest.raises(StoreChanged, match=REFUSAL):
        start(before, after)


def test_processor_store_distinguishes_text_keys_from_other_keys() -> None:
    assert start(BY_TEXT, BY_LONG) == [1]


class Reminding(Processor[str, int]):
    """Forwards the key of a record when its timer fires."""

    def process(self, event: str, ctx: Context[int]) -> None:
        key: Any = ctx.key
        ctx.schedule("remind", 1_500, key=key)

    def on_timer(self, timer: Timer, ctx: Context[int]) -> None:
        ctx.forward(int(ctx.key), key=str(ctx.key))


def remind(key: Any, key_of: Callable[[str], Any]) -> Edit:
    def edit(t: Topology) -> None:
        stream = t.stream("s", str).select_key(lambda _, value: key_of(value), key)
        stream.process(Reminding, int, key=str, name="p").to("o")

    return edit


def test_timers_whose_keys_have_another_format_are_refused() -> None:
    assert start(remind(int, int), remind(int, int)) == [12]
    for other in (remind(INT, int), remind(str, str)):
        with pytest.raises(
            StoreChanged, match=r"process p has timers and holds keys in the format long, but .*`forebay"
        ):
            start(remind(int, int), other)


def test_a_processor_without_timers_may_have_keys_of_another_format() -> None:
    timer = b"\x01timer\0process p: "
    before, after = remind(int, int), remind(INT, int)
    assert start(before, after, lambda rows: [row for row in rows if not row[0].startswith(timer)]) == []
