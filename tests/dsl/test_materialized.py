"""A store's options: with or without cache, with or without changelog, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forebay.builder import Materialized, Topology, TopologyError
from forebay.builder.description import picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service, Topic
from forebay.operators import UntilTimeLimit
from forebay.processor.bound_stores import declared_stores
from forebay.processor.engine_settings import Emit
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.stores.disk import DiskTable
from forebay.stores.materialized import store_of
from forebay.stores.memory import MemoryTable
from forebay.stores.split import SplitTable
from forebay.time import tumbling, within
from tests.dsl.driving import Driven, Nothing


def build_count(store: str) -> Callable[[Topology], None]:
    def build(t: Topology) -> None:
        table = t.stream("in", str).group_by_key().count(store=store)
        table.to_stream().map_values(lambda _, n: n, int).to("counts")

    return build


def batch(run: Driven) -> list[int]:
    return [sent.value for sent in run.driver.run_batch([("k", "a"), ("k", "b"), ("k", "c")])]


@pytest.mark.parametrize(
    ("caching", "emit", "sent"),
    [
        (None, Emit.EVERY, [1, 2, 3]),
        (True, Emit.EVERY, [3]),
        (None, Emit.LATEST, [3]),
        (False, Emit.LATEST, [1, 2, 3]),
    ],
)
def test_a_cache_sends_the_last_row_of_a_commit(caching: bool | None, emit: Emit, sent: list[int]) -> None:
    assert batch(Driven(build_count(Materialized("n", caching=caching)), emit=emit)) == sent


@pytest.mark.parametrize("emit", [Emit.EVERY, Emit.LATEST])
def test_a_topic_of_two_tables_gets_the_rows_of_both(emit: Emit) -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str).group_by_key()
        words.count(store="n").to_stream().to("out")
        words.count(store="m").to_stream().map_values(lambda _, count: -count, int).to("out")

    assert batch(Driven(build, emit=emit)) == [1, -1, 2, -2, 3, -3]


def test_operators_behind_a_cached_store_see_each_of_its_changes() -> None:
    def build(t: Topology) -> None:
        first = t.stream("in", str).group_by_key().count(store=Materialized("n", caching=True))
        first.to_stream().group_by_key().count(store="changes").to_stream().to("changes")

    assert batch(Driven(build)) == [1, 2, 3]


def test_a_store_without_a_changelog_begins_empty_and_others_do_not() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str).group_by_key()
        words.count(store=Materialized("lost", logging=False)).to_stream().to("lost")
        words.count(store="kept").to_stream().to("kept")
        lost = words.windowed_by(tumbling(10)).count(store=Materialized("windows", logging=False))
        lost.to_stream().to("windows")

    run = Driven(build)
    run.feed("in", ("k", "a", 1), ("k", "b", 2))
    run.driver.restart()
    run.feed("in", ("k", "c", 3))
    assert [[value for _, value, _ in run.by_topic(topic)] for topic in ("lost", "kept", "windows")] == [
        [1, 2, 1],
        [1, 2, 3],
        [1, 2, 1],
    ]


def test_store_without_a_changelog_writes_no_changelog_records() -> None:
    run = Driven(build_count(Materialized("n", logging=False)))
    run.feed("in", ("k", "a", 1))
    log = sub_topology_log("app", 0, run.job.topology[0].processor(Nothing()))
    rows = list(run.driver.sub_topologies[0].tables[0].scan(b""))
    assert any(store_of(key) == b"n" for key, _ in rows)
    routed = list(log.router(0).route(rows, 0))
    assert {topic for topic, *_ in routed} == {"app-0-task"}
    assert {store_of(key) for _, key, _, _ in routed} == {b""}
    assert log.stores == ()


def test_topology_description_shows_store_options() -> None:
    run = Driven(build_count(Materialized("n", logging=False, persistent=True, caching=True)))
    entry = Service("shown", "", (Topic("in"),), (Topic("counts"),), {}, "shown.job")
    picture = picture_of(entry, run.job)
    line = "store n (int): timestamped key-value, persistent, cached; no changelog: it begins empty at each start"
    assert line in as_text(picture)
    assert "n-changelog" not in as_mermaid(picture)


def fold(left: Any, right: Any) -> str:
    return f"{left}{right}"


REFUSED: dict[str, tuple[Callable[[Topology], Any], str]] = {
    "a global table without a changelog": (
        lambda t: t.global_table("g", str, store=Materialized("g", logging=False)),
        "store g: a global table resumes at its position, so its rows must be restored from a "
        "changelog: set logging=True",
    ),
    "a foreign key's subscriptions without a changelog": (
        lambda t: t.table("a", str, store="a").join_by_foreign_key(
            t.table("b", str, store="b"), lambda _, v: v, fold, str, store=Materialized("j", logging=False)
        ),
        "store j: a foreign-key join must restore its subscriptions from a changelog: set logging=True",
    ),
    "a cached versioned table": (
        lambda t: t.table("a", str, store=Materialized("a", caching=True), history_retention_ms=5),
        "store a: a versioned table can't be cached, because each of its versions is sent",
    ),
    "a cached deduplication": (
        lambda t: t.stream("a", str).deduplicate(lambda _, v: v, store=Materialized("d", caching=True), ttl_ms=5),
        "store d: the rows of this store are not sent to an output, so there is nothing to cache: remove caching=",
    ),
    "a cached suppression": (
        lambda t: t.table("a", str, store="a").suppress(UntilTimeLimit(5), store=Materialized("s", caching=False)),
        "store s: the rows of this store are not sent",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_store_options_are_refused(name: str) -> None:
    build, said = REFUSED[name]
    with pytest.raises(TopologyError, match=rf"test_materialized.py:\d+: {said}"):
        build(Topology())


def test_a_join_s_stores_have_the_options_of_its_named_store() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.outer_join(words, fold, str, windows=within(5), store=Materialized("j", logging=False)).to("out")

    stores = [store for _, store in declared_stores(Driven(build).job.topology[0].processor(Nothing()))]
    assert [(store.name, store.options.logging) for store in stores] == [
        (f"j-{side}", False) for side in ("left", "right", "left-waiting", "right-waiting")
    ]


def test_split_table_behaves_like_a_single_table(tmp_path: Path) -> None:
    disk = DiskTable(str(tmp_path), "t")
    split, whole = SplitTable(MemoryTable(), disk, frozenset({b"far"})), MemoryTable()
    rows = [(store + b"\0" + key, key) for store in (b"far", b"near", b"\x01marks\0far") for key in (b"a", b"b", b"c")]
    for changes in (rows, [(b"far\0b", None), (b"near\0c", None), (b"\x01timer\0far\0k", b"1")]):
        for table in (split, whole):
            table.apply(changes, b"tag")
    assert len(disk) == 5
    assert [key for key, _ in disk.scan(b"")] == [b"\x01marks\0far\0" + k for k in (b"a", b"b", b"c")] + [
        b"far\0a",
        b"far\0c",
    ]
    for start, end in ((b"", None), (b"far\0", b"far\x01"), (b"\x01", b"\x02"), (b"far\0b", b"near\0b")):
        assert list(split.scan(start, end)) == list(whole.scan(start, end))
        assert list(split.scan_reverse(start, end)) == list(whole.scan_reverse(start, end))
    assert (len(split), split.size_bytes, split.tag) == (len(whole), whole.size_bytes, b"tag")
    assert split.get(b"far\0a") == b"a"
    disk.apply((), b"other")
    assert split.tag == b"", "a changelog of another store counts as missing"
    split.clear()
    assert (len(split), split.tag) == (0, b"")
    split.close()


def test_task_counts_puts_and_reads_of_its_stores() -> None:
    run = Driven(build_count("n"))
    run.feed("in", ("k", "a", 1), ("k", "b", 2), ("j", "c", 3))
    sub_topology = run.driver.sub_topologies[0]
    assert sub_topology.engines[0].store_calls() == {"n": (3, 3)}
    assert sub_topology.tables[0].store_sizes()["n"][0] == 2
