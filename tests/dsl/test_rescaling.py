"""If the number of tasks changes, a topology's rows and timers move to the tasks that own their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.formats import INT, UUID
from forebay.in_memory.loop import Left
from forebay.operators import Emission
from forebay.processor import Context, Processor, Timer
from forebay.processor.bound_stores import declared_stores
from forebay.stores import KeyValueStore
from forebay.stores.internal import FILLED
from forebay.stores.spread import NotSpreadable, Spreader
from forebay.time import SessionWindows, SlidingWindows, tumbling, within
from tests.dsl.driving import Driven

KEYS = [f"key-{number}" for number in range(24)]


def respread(run: Driven, build: Callable[[Topology], Any], tasks: int, **more: Any) -> Driven:
    """Return a driver with another number of tasks that continues from the state of `run`."""
    other = Driven(build, tasks, **more)
    left: dict[tuple[int, int], Left] = {}
    for number, old in enumerate(run.driver.sub_topologies):
        stores = [store for _, store in declared_stores(old.definition.processor(run.job.settings()))]
        fresh = old.definition.processor(run.job.settings())
        spreader = Spreader(stores, fresh.record_key, len(old.state_tasks), tasks)
        positions = [task.position for task in old.state_tasks]
        for task, rows in enumerate(spreader.spread([table.scan(b"", None) for table in old.tables])):
            heirs = [positions[ancestor] for ancestor in spreader.ancestors(task)]
            latest = replace(
                heirs[0],
                n=max(p.n for p in positions),
                stream_time=max(p.stream_time for p in heirs),
                closing_time=max(p.closing_time for p in heirs),
            )
            left[number, task] = sorted(rows.items()), latest
    other.driver.restore(left)
    return other


def count_words(t: Topology) -> None:
    words = t.stream("in", str)
    words.group_by(lambda _, v: len(v), INT).count(store="by-length").to_stream().to("by-length")
    words.group_by_key().count(store="by-key").map_values(lambda _, n: n, int).materialized("kept").to_stream().to(
        "kept"
    )
    words.deduplicate(lambda _, v: v, store="seen", ttl_ms=10_000).to("new")


def count_windows(t: Topology) -> None:
    grouped = t.stream("in", str).group_by_key()
    grouped.windowed_by(tumbling(100), Emission.FINAL).count(store="w").to_stream().to("windows")
    grouped.windowed_by(SessionWindows(50), Emission.FINAL).count(store="s").to_stream().to("sessions")
    grouped.windowed_by(SlidingWindows(50)).count(store="l").materialized("sliding").to_stream().to("sliding")


def join_streams_and_tables(t: Topology) -> None:
    left, right = t.stream("in", str), t.stream("other", str)
    windows = within(100)
    left.outer_join(right, lambda a, b: f"{a}-{b}", str, windows=windows, store="j").to("joined")
    rows = t.table("rows", str, store="rows")
    regions = t.table("regions", str, store="regions")
    rows.join_by_foreign_key(regions, lambda _, v: v, lambda a, b: a + b, str, store="fk").to_stream().to("fk")


class Later(Processor[str, str]):
    def __init__(self) -> None:
        self.latest = KeyValueStore("latest", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        self.latest.put(str(ctx.key), event)
        ctx.schedule("later", ctx.timestamp + 100)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(f"{timer.name}: {self.latest.get(str(ctx.key))}")


def send_later(t: Topology) -> None:
    t.stream("in", str).process_values(Later, str, name="later").to("out")


TOPICS: dict[Callable[[Topology], Any], list[str]] = {
    count_words: ["in"],
    count_windows: ["in"],
    join_streams_and_tables: ["in", "other", "rows", "regions"],
    send_later: ["in"],
}


@pytest.mark.parametrize("build", TOPICS, ids=lambda build: build.__name__)
@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 4), (1, 3)])
def test_results_are_the_same_after_a_rescale(build: Callable[[Topology], Any], before: int, after: int) -> None:
    straight, spread = Driven(build, 1), Driven(build, before)
    outputs: list[list[Any]] = [[], []]
    for half in range(2):
        for number, key in enumerate(KEYS):
            for topic in TOPICS[build]:
                value = f"key-{number % 5}" if topic == "rows" else f"{topic}{number % 7}{'x' * (number % 4)}"
                for index, run in enumerate((straight, spread)):
                    outputs[index] += run.pipe(topic, key, value, half)
        if half == 0:
            spread = respread(spread, build, after)
    outputs[0] += straight.idle(10_000)
    outputs[1] += spread.idle(10_000)
    assert sorted(outputs[1], key=str) == sorted(outputs[0], key=str)


@pytest.mark.parametrize("spread", [{"partitions": 4}, {"partitioner": lambda key, _: len(key)}])
@pytest.mark.parametrize("before", [1, 2])
def test_a_custom_partitioning_is_refused(spread: Any, before: int) -> None:
    """With one task, every row is in the task of its key's hash, so only the topology shows the custom partitioning."""

    def build(t: Topology) -> None:
        t.stream("in", str).repartition("own", **spread).group_by_key().count(store="n").to_stream().to("out")

    run = Driven(build, before)
    run.feed("in", *((key, "v", at) for at, key in enumerate(KEYS)))
    with pytest.raises(NotSpreadable, match=r"test_rescaling.py:\d+: the repartition own has partitions or a partitio"):
        respread(run, build, 3)


def test_keys_of_other_formats_are_found_by_their_bytes() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str, key=int).group_by_key().count(store="n").to_stream().to("out")
        t.stream("ids", str, key=UUID).group_by_key().count(store="u").to_stream().to("ids-out")

    run = Driven(build, 3)
    run.feed("in", *[(number, "a", 1) for number in range(20)])
    again = respread(run, build, 2)
    assert [again.pipe("in", number, "b", 2)[0][1] for number in range(20)] == [2] * 20


def join_towns(t: Topology) -> None:
    towns = t.global_table("towns", str, store="towns")
    t.stream("in", str).left_join(towns, lambda a, b: f"{a} {b}", str, key_of=lambda _, town: town).to("out")


def test_every_task_has_all_rows_of_a_global_table_for_any_number_of_tasks() -> None:
    run = Driven(join_towns, tasks=2)
    run.feed("towns", *((f"town-{n}", str(n), 0) for n in range(9)), ("town-8", None, 1))
    for tasks in (3, 1, 4):
        run = respread(run, join_towns, tasks)
        stores = [store for p in run.driver.sub_topologies[0].processors for _, store in declared_stores(p)]
        held = [len(list(store.all())) for store in stores if isinstance(store, KeyValueStore)]
        assert held == [8] * tasks
        assert run.feed("in", *((key, "town-5", 2) for key in KEYS)) == [(key, "town-5 5", 2) for key in KEYS]


def test_after_a_rescale_an_added_aggregate_gets_the_rows_once() -> None:
    def build(t: Topology, name: str = "") -> None:
        rows = t.table("in", str, store="rows")
        rows.to_stream().to("copy")
        for store in filter(None, ("before", name)):
            rows.group_by(lambda _, value: value, str).count(store=store).to_stream().to(f"out-{store}")

    run = Driven(build, 3)
    run.feed("in", *((key, "g", 0) for key in KEYS))
    again = respread(run, build, 2)
    again = respread(again, lambda t: build(t, "added"), 2)
    for store in ("before", "added"):
        assert {key: row.value for key, row in again.driver.store(store).items()} == {"g": len(KEYS)}


def test_incompletely_filled_store_can_not_be_rescaled() -> None:
    spreader = Spreader([], lambda _name, _key: None, 2, 1)
    complete, begun, missed = b'{"x": {}}', b'{"x": {"sent": "k"}}', b'{"x": {"missed": true}}'
    key = FILLED + b"t"
    for rows in ((complete, begun), (begun, complete), (begun, b"{}"), (b"{}", begun)):
        with pytest.raises(NotSpreadable, match=r"the store x was added and has not got all rows .*rescale it then"):
            spreader.spread([[(key, row)] for row in rows])
    for rows in ((complete, missed), (missed, complete), (b"{}", missed), (complete, b"{}"), (b"{}", complete)):
        assert spreader.spread([[(key, row)] for row in rows]) == [{key: missed}]
    assert spreader.spread([[(key, complete)], [(key, complete)]]) == [{key: complete}]
    assert spreader.spread([[(key, complete)], []]) == [{key: complete}]
    added = b'{"x": {"added": true}}'
    for rows in ((complete, added), (added, complete), (added, added)):
        assert spreader.spread([[(key, row)] for row in rows]) == [{key: added}]


def test_topic_not_recorded_by_every_task_is_filled_again() -> None:
    spreader = Spreader([], lambda _name, _key: None, 2, 1)
    key, complete = FILLED + b"t", b'{"topic of x": {}}'
    for rows in ((complete, b"{}"), (b"{}", complete)):
        assert spreader.spread([[(key, row)] for row in rows]) == [{key: b"{}"}]
    assert spreader.spread([[(key, complete)], [(key, complete)]]) == [{key: complete}]
    with pytest.raises(NotSpreadable, match=r"^the topic of x was added and has not got all rows"):
        spreader.spread([[(key, complete)], [(key, b'{"topic of x": {"sent": "k"}}')]])


def test_timers_of_a_removed_processor_prevent_a_rescale() -> None:
    """If each task had a copy, the timer would fire several times once the processor is declared again."""

    def build(t: Topology) -> None:
        t.stream("in", str).group_by_key().count(store="n").to_stream().map_values(lambda _, n: str(n), str).to("out")

    spreader = Spreader([], Driven(build, 1).driver.sub_topologies[0].processors[0].record_key, 1, 3)
    due = (1).to_bytes(8, "big")
    with pytest.raises(NotSpreadable, match="process gone is not declared, so the timer of the key 'k'"):
        spreader.spread([[(b"\x01timer\0process gone: t\0k", due)]])
    task_timer = b"\x01timer\0process gone: t\0", due
    assert spreader.spread([[task_timer]]) == [dict([task_timer])] * 3
