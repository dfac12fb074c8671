"""Operators of streams: filters, maps, new keys, merge, split, several inputs and outputs, nulls, times and headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.builder.description import picture_of
from forebay.builder.render import as_text
from forebay.catalog import Service, Topic
from forebay.formats import simple
from tests.dsl.driving import Driven


def test_filters_let_nulls_through() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.filter(lambda _, v: v > "m").to("high")
        words.filter_not(lambda _, v: v > "m").to("low")

    run = Driven(build)
    run.feed("in", ("a", "z", 1), ("a", "b", 2), ("a", None, 3))
    assert run.by_topic("high") == [("a", "z", 1), ("a", None, 3)]
    assert run.by_topic("low") == [("a", "b", 2), ("a", None, 3)]


def test_drop_nulls_keeps_records_with_a_value() -> None:
    run = Driven(lambda t: t.stream("in", str).drop_nulls().to("out"))
    assert run.feed("in", ("a", "", 1), ("a", None, 2), (None, "b", 3)) == [("a", "", 1), (None, "b", 3)]


def test_nulls_of_a_table_can_be_dropped_behind_to_stream() -> None:
    run = Driven(lambda t: t.table("in", str, store="rows").to_stream().drop_nulls().to("out"))
    assert run.feed("in", ("a", "x", 1), ("a", None, 2)) == [("a", "x", 1)]
    assert run.driver.store("rows") == {}


def test_drop_nulls_leaves_records_in_their_tasks_and_has_a_name() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).drop_nulls().group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build)
    assert [part.name for part in run.job.topology] == [""]
    entry = Service("named", "", (Topic("in"),), (Topic("counts"),), {}, "no.module")
    assert "[1] drop nulls <- in" in as_text(picture_of(entry, run.job))


def test_maps() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.map_values(lambda _, v: len(v), int).to("lengths")
        words.flat_map_values(lambda _, v: v.split(), str).to("words")
        words.map(lambda k, v: (len(v), k), str, key=int).to("by-length")
        words.flat_map(lambda k, v: [(item, k) for item in v.split()], str, key=str).to("by-word")

    run = Driven(build)
    run.feed("in", ("k", "ab c", 1), ("k", None, 2))
    assert run.by_topic("lengths") == [("k", 4, 1), ("k", None, 2)]
    assert run.by_topic("words") == [("k", "ab", 1), ("k", "c", 1), ("k", None, 2)]
    assert run.by_topic("by-length") == [(4, "k", 1)]
    assert run.by_topic("by-word") == [("ab", "k", 1), ("c", "k", 1)]


def test_a_null_key_is_a_record_unless_it_must_be_grouped() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.to("out")
        words.group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build)
    run.feed("in", (None, "a", 1), ("k", "a", 2))
    assert run.by_topic("out") == [(None, "a", 1), ("k", "a", 2)]
    assert run.by_topic("counts") == [("k", 1, 2)]


def test_nulls_go_to_errors_if_they_are_not_accepted() -> None:
    run = Driven(lambda t: t.stream("in", str, nulls=False).to("out"))
    assert run.driver.pipe("k", None, "in") == []
    assert "value is null" in run.driver.errors[0].headers["error.message"]


def test_select_key_repartitions_only_before_state() -> None:
    def build(t: Topology) -> None:
        rekeyed = t.stream("in", str).select_key(lambda _, v: v, str)
        rekeyed.to("out")
        rekeyed.group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build, tasks=3)
    assert [(part.name, part.sends) for part in run.job.topology] == [("", frozenset({"n"})), ("n", frozenset())]
    run.feed("in", ("a", "x", 1), ("b", "x", 2), ("c", "y", 3))
    assert run.by_topic("out") == [("x", "x", 1), ("x", "x", 2), ("y", "y", 3)]
    assert run.by_topic("counts") == [("x", 1, 1), ("x", 2, 2), ("y", 1, 3)]


def test_a_store_and_a_topic_may_have_the_same_name() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).group_by(lambda _, v: v, str).count(store="counts").to_stream().to("counts")

    run = Driven(build, tasks=2)
    assert [part.name for part in run.job.topology] == ["", "counts-by-key"]
    assert run.pipe("in", "k", "a", 1) == [("a", 1, 1)]


def test_one_stream_grouped_in_two_ways() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.group_by(lambda _, v: v[0], str).count(store="by-first").to_stream().to("firsts")
        words.group_by(lambda _, v: len(v), int).count(store="by-length").to_stream().to("lengths")

    run = Driven(build, tasks=2)
    run.feed("in", ("a", "xy", 1), ("b", "xyz", 2), ("c", "ab", 3))
    assert run.by_topic("firsts") == [("x", 1, 1), ("x", 2, 2), ("a", 1, 3)]
    assert run.by_topic("lengths") == [(2, 1, 1), (3, 1, 2), (2, 2, 3)]


def test_repartition_is_shared_by_all_downstream_operators() -> None:
    def build(t: Topology) -> None:
        rekeyed = t.stream("in", str).select_key(lambda _, v: v, str).repartition("by-word")
        rekeyed.group_by_key().count(store="n").to_stream().to("counts")
        rekeyed.group_by_key().reduce(lambda a, b: a + b, store="all").to_stream().to("texts")

    assert [part.name for part in Driven(build).job.topology] == ["", "by-word"]


def test_merge_at_any_point_and_topics_read_as_one_stream() -> None:
    def build(t: Topology) -> None:
        both = t.stream(["a", "b"], str)
        third = t.stream("c", str).select_key(lambda _, v: v, str)
        both.merge(third).group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build, tasks=2)
    run.pipe("a", "x", "1", 1)
    run.pipe("b", "x", "2", 2)
    run.pipe("c", "y", "x", 3)
    assert run.by_topic("counts") == [("x", 1, 1), ("x", 2, 2), ("x", 3, 3)]


def test_split_sends_each_record_to_the_first_matching_branch() -> None:
    def build(t: Topology) -> None:
        branches = (
            t.stream("in", int)
            .split()
            .branch("big", lambda _, v: v > 10)
            .branch("odd", lambda _, v: v % 2 == 1)
            .default_branch("rest")
        )
        for name, stream in branches.items():
            stream.to(name)

    run = Driven(build)
    run.feed("in", ("k", 11, 1), ("k", 3, 2), ("k", 4, 3), ("k", None, 4))
    assert [run.by_topic(name) for name in ("big", "odd", "rest")] == [
        [("k", 11, 1)],
        [("k", 3, 2)],
        [("k", 4, 3), ("k", None, 4)],
    ]


def test_without_a_default_branch_the_rest_is_dropped() -> None:
    def build(t: Topology) -> None:
        t.stream("in", int).split().branch("big", lambda _, v: v > 10).no_default_branch()["big"].to("out")

    assert Driven(build).feed("in", ("k", 1, 1), ("k", 12, 2)) == [("k", 12, 2)]


def test_a_function_chooses_the_topic_among_those_declared() -> None:
    run = Driven(lambda t: t.stream("in", str).to(lambda _, v: v or "null", topics=["a", "b"]))
    run.pipe("in", "k", "a", 1)
    run.pipe("in", "k", "b", 2)
    assert (run.by_topic("a"), run.by_topic("b")) == ([("k", "a", 1)], [("k", "b", 2)])
    run.driver.pipe("k", "c", "in")
    assert "'c' was chosen, which is not one of a, b" in run.driver.errors[0].headers["error.message"]


def test_peek_foreach_and_print_see_each_record(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    def build(t: Topology) -> None:
        words = t.stream("in", str).peek(lambda k, v: seen.append((k, v)))
        words.print("words")
        words.foreach(lambda k, v: seen.append(v))
        words.to("out")

    assert Driven(build).pipe("in", "k", "a", 1) == [("k", "a", 1)]
    assert seen == [("k", "a"), "a"]
    assert capsys.readouterr().out == "[words]: k, a\n"


@dataclass(frozen=True, slots=True)
class Timed:
    at: int
    ident: str | None = None


def test_event_time_is_the_record_timestamp_unless_a_field_or_function_is_given() -> None:
    def build(t: Topology) -> None:
        t.stream("plain", Timed).to("out")
        t.stream("field", Timed, timestamp="at").to("out")
        t.stream("function", Timed, timestamp=lambda v: v.at * 10).to("out")

    run = Driven(build)
    assert [run.pipe(topic, "k", Timed(5), 7)[0][2] for topic in ("plain", "field", "function")] == [7, 5, 50]


def test_duplicate_ids_are_dropped_if_event_id_is_given() -> None:
    def build(t: Topology) -> None:
        t.stream("ids", Timed, event_id="ident").to("out")
        t.stream("none", Timed).to("out")

    run = Driven(build)
    record = ("k", Timed(1, "e"), 1)
    assert len(run.feed("ids", record, record)) == 1
    assert len(run.feed("none", record, record)) == 2


def test_custom_format_works_for_values_and_keys() -> None:
    point = simple("point", complex, lambda c: str(c).encode(), lambda data: complex(data.decode()))

    def build(t: Topology) -> None:
        t.stream("in", point, key=point).group_by(lambda _, at: at, point).count(store="n").to_stream().to("counts")

    run = Driven(build, tasks=2)
    assert run.feed("in", (1j, 2j, 1), (3j, 2j, 2)) == [(2j, 1, 1), (2j, 2, 2)]
    run.driver.pipe_bytes(b"1j", b"no point")
    assert "8 bytes are not a valid point" in run.driver.errors[0].headers["error.message"]


def test_deduplicate_by_key_and_id_within_a_time() -> None:
    run = Driven(lambda t: t.stream("in", str).deduplicate(lambda _, v: v, store="seen", ttl_ms=10).to("out"))
    sent = run.feed("in", ("a", "x", 0), ("a", "x", 9), ("b", "x", 9), ("a", "x", 10), ("a", "y", 10))
    assert sent == [("a", "x", 0), ("b", "x", 9), ("a", "x", 10), ("a", "y", 10)]


def test_headers_travel_through_repartitions() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).group_by(lambda _, v: v, str).count(store="n").to_stream().to("out")

    run = Driven(build, tasks=2)
    run.pipe("in", "k", "v", 1, headers=[("trace", b"7")])
    assert [out.headers for out in run.driver.outputs] == [(("trace", b"7"),)]


def test_a_stream_becomes_a_table() -> None:
    def build(t: Topology) -> None:
        table = t.stream("in", str).select_key(lambda _, v: v[0], str).to_table(store="latest")
        table.map_values(lambda _, v: v.upper(), str).to_stream().to("out")

    run = Driven(build, tasks=2)
    assert run.feed("in", ("1", "ab", 1), ("2", "ac", 2)) == [("a", "AB", 1), ("a", "AC", 2)]


def test_merging_streams_of_other_records_is_refused() -> None:
    t = Topology()
    with pytest.raises(
        TopologyError, match=r"test_streams.py:\d+: merge\(\): one stream has text keys and text values"
    ):
        t.stream("a", str).merge(t.stream("b", int))  # type: ignore[arg-type]
