"""An invalid topology is rejected when it is built. The error names the line of the call and the correction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology, TopologyError, ValueTransformer, job
from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses, WhenFull
from forebay.processor import Context, Processor
from forebay.stores import TimestampedKeyValueStore
from forebay.testing import TestDriver
from forebay.time import SessionWindows, SlidingWindows, UnlimitedWindows, tumbling, within
from tests.dsl.driving import Nothing

NO_SUBTRACT: Fold[str, int] = Fold(lambda: 0, lambda _, __, a: a + 1)


@dataclass(frozen=True, slots=True)
class Record:
    text: str
    at: int


class Reads(Processor[str, str]):
    rows = TimestampedKeyValueStore("rows", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(str(self.rows.get(ctx.key)))


class Nameless(Processor[str, str]):
    rows = TimestampedKeyValueStore("nameless", str)


class Same(ValueTransformer[str, str, str]):
    def transform(self, key: str, value: str | None, ctx: Context[Any]) -> str | None:
        return value


def words(t: Topology) -> Any:
    return t.stream("words", str)


def number_keyed_stream(t: Topology) -> Any:
    return t.stream("numbered", str, key=int)


def table(t: Topology, history: int | None = None) -> Any:
    return t.table("rows", str, store="rows", history_retention_ms=history)


def always(instance: Any) -> Callable[[], Any]:
    return lambda: instance


def pair(left: Any, right: Any) -> str:
    return f"{left}{right}"


def circle(t: Topology) -> None:
    rows = table(t)
    rows.to_stream().select_key(lambda _, v: v, str).process(Reads, str, name="reads", stores=["rows"]).to("out")


def two_formats(t: Topology) -> None:
    words(t).to("out")
    number_keyed_stream(t).to("out")


def group_words(t: Topology) -> Any:
    return words(t).group_by_key()


REFUSED: dict[str, tuple[Callable[[Topology], Any], str]] = {
    "streams of other keys": (
        lambda t: words(t).join(number_keyed_stream(t), pair, str, windows=within(5), store="j"),
        r"join j: keys are text on one side and long on the other.* convert the keys of one side with select_key",
    ),
    "a table of other keys": (
        lambda t: number_keyed_stream(t).join(table(t), pair, str),
        "join rows: keys are long on one side and text on the other",
    ),
    "tables of other keys": (
        lambda t: table(t).join(t.table("n", str, key=int, store="n"), pair, str),
        "join rows and n: keys are text on one side and long",
    ),
    "streams of one aggregate of other keys": (
        lambda t: (
            group_words(t)
            .cogroup(NO_SUBTRACT)
            .cogroup(number_keyed_stream(t).group_by_key(), NO_SUBTRACT)
            .aggregate(int, store="all")
        ),
        "cogroup all: keys are text on one side and long",
    ),
    "a grace on an unversioned table": (
        lambda t: words(t).join(table(t), pair, str, grace_ms=5, waiting="waiting"),
        "rows: a join with a grace of 5 ms needs the table as of the record's time; read it with history_retention_ms=",
    ),
    "a grace on a filtered table": (
        lambda t: words(t).join(table(t, 50).filter(lambda *_: True), pair, str, grace_ms=5, waiting="waiting"),
        "filter: a join with a grace of 5 ms needs the table as of the record's time",
    ),
    "a grace beyond the history": (
        lambda t: words(t).join(table(t, 5), pair, str, grace_ms=6, waiting="waiting"),
        "rows: the join's grace of 6 ms is longer than the table's history of 5 ms; give the table a history",
    ),
    "a grace without a store": (
        lambda t: words(t).join(table(t, 50), pair, str, grace_ms=6),
        "rows: records that wait for the grace period need a store: name it with waiting=",
    ),
    "a retention shorter than the windows": (
        lambda t: group_words(t).windowed_by(tumbling(1_000)).count(store="counts", retention_ms=10),
        "counts: retention_ms 10 is shorter than its windows of 1000 ms",
    ),
    "a retention shorter than the windows and their grace": (
        lambda t: group_words(t).windowed_by(tumbling(1_000, grace_ms=500)).count(store="counts", retention_ms=1_200),
        "counts: retention_ms 1200 is shorter than its windows and their grace; specify at least 1500 ms",
    ),
    "a retention shorter than the sessions": (
        lambda t: group_words(t).windowed_by(SessionWindows(1_000)).count(store="counts", retention_ms=10),
        "counts: retention_ms 10 is shorter",
    ),
    "a retention shorter than sliding windows": (
        lambda t: group_words(t).windowed_by(SlidingWindows(1_000)).count(store="counts", retention_ms=1_000),
        "counts: retention_ms 1000 is shorter",
    ),
    "a versioned table suppressed": (
        lambda t: table(t, 5).suppress(UntilTimeLimit(5), store="held"),
        "rows: a versioned table can't be suppressed.*; suppress an aggregate of it, or read it without history_ret",
    ),
    "a table without windows suppressed until they close": (
        lambda t: table(t).suppress(UntilWindowCloses(tumbling(5)), store="held"),
        "rows: updates without a window can't wait until it closes; use UntilTimeLimit, or aggregate with windowed_by",
    ),
    "results suppressed for less than the grace of their windows": (
        lambda t: (
            group_words(t)
            .windowed_by(tumbling(5, grace_ms=2))
            .count(store="counts")
            .filter(lambda _, count: count > 1)
            .suppress(UntilWindowCloses(tumbling(5)), store="held")
        ),
        r"the windows of UntilWindowCloses close earlier than those of the aggregate at test_refusals.py:\d+, so",
    ),
    "sessions suppressed until other windows close": (
        lambda t: (
            group_words(t)
            .windowed_by(SessionWindows(5))
            .count(store="counts")
            .suppress(UntilWindowCloses(tumbling(5)), store="held")
        ),
        "counts: the windows of UntilWindowCloses close earlier than those of the aggregate",
    ),
    "a join suppressed for less than the grace of one side": (
        lambda t: (
            group_words(t)
            .windowed_by(tumbling(5, grace_ms=2))
            .count(store="late")
            .join(t.stream("more", str).group_by_key().windowed_by(tumbling(5)).count(store="early"), max, int)
            .suppress(UntilWindowCloses(tumbling(5)), store="held")
        ),
        "close earlier than those of the aggregate",
    ),
    "final results emitted early": (
        lambda t: (
            group_words(t)
            .windowed_by(tumbling(5))
            .count(store="counts")
            .suppress(UntilWindowCloses(tumbling(5)), store="held", max_bytes=5, when_full=WhenFull.EMIT_EARLY)
        ),
        "results that are emitted early are not final; use WhenFull.SHUT_DOWN, or UntilTimeLimit",
    ),
    "a suppressed table grouped": (
        lambda t: table(t).suppress(UntilTimeLimit(5), store="held").group_by(lambda _, v: v, str),
        r"held: group_by\(\) needs the previous values of rows.*: call .materialized\(store=...\) first",
    ),
    "a suppressed table filtered": (
        lambda t: table(t).suppress(UntilTimeLimit(5), store="held").filter(lambda *_: True),
        r"held: filter\(\) needs the previous values of rows",
    ),
    "a group without subtract": (
        lambda t: table(t).group_by(lambda _, v: v, str).aggregate(NO_SUBTRACT, int, store="n"),
        "store n: rows can leave a group, but the fold has no subtract function: pass subtract= to the Fold",
    ),
    "sessions without merge": (
        lambda t: group_words(t).windowed_by(SessionWindows(5)).aggregate(NO_SUBTRACT, int, store="s"),
        "store s: sessions can merge, but the fold has no merge function: pass merge= to the Fold",
    ),
    "finals of an unlimited window": (
        lambda t: group_words(t).windowed_by(UnlimitedWindows(), Emission.FINAL).count(store="u"),
        "store u: an unlimited window never closes, so it has no final result: set emit=Emission.UPDATES",
    ),
    "a topic read twice": (
        lambda t: (words(t), words(t)),
        r"topic words is read at test_refusals.py:\d+ already: use the stream or table that stream",
    ),
    "a topic sent two formats": (
        two_formats,
        r"topic out is written with text keys and text values at .*, and with long keys and text values here: map them",
    ),
    "a store named twice": (
        lambda t: (group_words(t).count(store="n"), t.stream("b", str).group_by_key().count(store="n")),
        r"store n: the name is used at test_refusals.py:\d+ already: choose another name",
    ),
    "a repartition named twice": (
        lambda t: [
            words(t).select_key(lambda _, v: v, str).repartition("r") if i == 0 else t.stream("b", str).repartition("r")
            for i in range(2)
        ],
        r"repartition r: the name is used at test_refusals.py:\d+ already: choose another one with name=",
    ),
    "a field that is none": (
        lambda t: t.stream("records", Record, timestamp="time"),
        "topic records: Record has no field 'time': name one of text, at",
    ),
    "a field of text": (
        lambda t: t.stream("texts", str, timestamp="time"),
        "topic texts: text values have no fields: pass a function of the value",
    ),
    "a type without a format": (lambda t: t.stream("lists", list), "list has no format: pass a Record"),
    "a topic's name": (lambda t: t.stream("a b", str), "topic 'a b': a topic's name has 1 to 249 characters of"),
    "a function without topics": (
        lambda t: words(t).to(lambda _, v: v),
        "the topic is chosen by a function: list all topics that it may return with topics=",
    ),
    "a branch named twice": (
        lambda t: words(t).split().branch("a", lambda *_: True).branch("a", lambda *_: True),
        "branch a: two branches have this name",
    ),
    "streams joined without windows": (
        lambda t: words(t).join(t.stream("b", str), pair, str, store="j"),
        r"a join with a stream needs windows=within\(ms\)$",
    ),
    "streams joined without anything": (
        lambda t: words(t).left_join(t.stream("b", str), pair, str),
        r'a join with a stream needs windows=within\(ms\) and store="NAME"$',
    ),
    "streams joined within windows of an aggregate": (
        lambda t: words(t).join(t.stream("b", str), pair, str, windows=tumbling(5), store="j"),
        r"join j: TimeWindows\(.*\) is not a join window: pass within\(ms\) or JoinWindows",
    ),
    "a table joined within windows": (
        lambda t: words(t).join(table(t), pair, str, windows=within(5), store="j"),
        "a join with a table takes grace_ms=, waiting=, name=: leave out windows=, store=",
    ),
    "a table in an outer join": (
        lambda t: words(t).outer_join(table(t), pair, str, windows=within(5), store="j"),
        r"outer_join\(\) joins two streams, Table is not one: use left_join\(\)",
    ),
    "a global table joined by no key": (
        lambda t: words(t).join(t.global_table("g", str, store="g"), pair, str),
        "a join with a global table needs key_of=lambda key, value: ...",
    ),
    "windows that are a number": (
        lambda t: group_words(t).windowed_by(10),
        r"windowed_by\(10\): pass tumbling\(size_ms\), hopping\(size_ms, advance_ms\), SlidingWindows",
    ),
    "windows of several streams that are a number": (
        lambda t: group_words(t).cogroup(NO_SUBTRACT).windowed_by(10),
        r"windowed_by\(10\): pass tumbling",
    ),
    "a processor in place of its class": (
        lambda t: words(t).process(Reads(), str, name="reads"),
        "process reads: one Reads can't serve all tasks: to create one for each task, pass "
        "the class Reads or a function",
    ),
    "a function that returns one processor for all tasks": (
        lambda t: words(t).process(always(Reads()), str, name="reads"),
        "process reads: the function returns the same Reads each time it is called, but each task needs its own: "
        "create the Reads inside the function, or pass the class",
    ),
    "such a function with several ways on": (
        lambda t: words(t).process(always(Reads()), {"a": str, "b": str}, name="reads"),
        "process reads: the function returns the same Reads each time",
    ),
    "such a function that keeps the key": (
        lambda t: words(t).process_values(always(Reads()), str, name="reads"),
        "process reads: the function returns the same Reads each time",
    ),
    "a function that returns one transformer for all tasks": (
        lambda t: table(t).transform_values(always(Same()), str, store="same"),
        "transform same: the function returns the same Same each time",
    ),
    "a function that makes no processor": (
        lambda t: words(t).process(lambda: 1, str, name="one"),
        "process one: 1 is not a Processor: pass a subclass of Processor, or a function that creates one",
    ),
    "what is not a function at all": (
        lambda t: words(t).process_values("Reads", str, name="reads"),
        "process reads: 'Reads' is not a Processor: pass a subclass",
    ),
    "a processor that lacks process()": (
        lambda t: words(t).process(Nameless, str, name="nameless"),
        rf"process nameless: Nameless of {__name__} lacks process\(\): define it there",
    ),
    "a transformer in place of its class": (
        lambda t: table(t).transform_values(Same(), str, store="same"),
        "transform same: one Same can't serve all tasks: to create one for each task, pass "
        "the class Same or a function",
    ),
    "a processor in place of a transformer": (
        lambda t: table(t).transform_values(Reads, str, store="same"),
        "transform same: <.*Reads object at .* is not a ValueTransformer: pass a subclass of ValueTransf",
    ),
    "something else joined": (
        lambda t: words(t).join("rows", pair, str),
        "str can't be joined: pass a stream, a table or a global table",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_operation_is_refused_with_its_source_line(what: str) -> None:
    describe, message = REFUSED[what]
    with pytest.raises(TopologyError, match=rf"^test_refusals.py:\d+: .*{message}"):
        describe(Topology())


def built(describe: Callable[[Topology], Any]) -> Any:
    def build(_: Nothing) -> Topology:
        topology = Topology()
        describe(topology)
        return topology

    return job(Nothing, build)


def test_a_store_shared_with_what_is_behind_a_repartition_of_its_rows_is_refused() -> None:
    with pytest.raises(
        TopologyError, match=r"test_refusals.py:\d+: records from the repartition reads use a table or store"
    ):
        built(circle)


def test_a_global_table_that_nothing_looks_up_is_refused() -> None:
    def describe(t: Topology) -> None:
        t.global_table("towns", str, store="towns")
        words(t).to("out")

    with pytest.raises(
        TopologyError, match=r"refusals.py:\d+: global table towns: this global table is not used, .*: join a stre"
    ):
        built(describe)


def test_repartitioned_copy_of_the_table_is_accepted() -> None:
    def describe(t: Topology) -> None:
        rows = table(t)
        copy = rows.to_stream().repartition("copy").to_table(store="copied")
        rows.to_stream().select_key(lambda _, v: v, str).join(copy, pair, str).to("out")

    assert [part.name for part in built(describe).topology] == ["", "copy"]


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (lambda t: None, "reads no topic: begin with stream"),
        (words, r"writes no topic: end with to\(\), or pass may_end=True to job\(\)"),
    ],
)
def test_a_topology_without_beginning_or_end_is_refused(describe: Callable[[Topology], Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        built(describe)


def test_a_topology_of_stores_and_functions_alone_runs_as_it_is() -> None:
    seen: list[str] = []
    t = Topology()
    table(t)
    words(t).foreach(lambda _, word: seen.append(str(word)))
    driver = TestDriver(t)
    driver.pipe("k", "row", "rows")
    driver.pipe("k", "word", "words")
    assert (driver.store("rows")["k"].value, seen) == ("row", ["word"])


def test_invalid_topology_is_refused_with_the_line_that_creates_the_driver() -> None:
    with pytest.raises(TopologyError, match=r"^test_refusals.py:\d+: the topology reads no topic"):
        TestDriver(Topology())
