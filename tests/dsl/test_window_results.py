"""Results of every type of window: final and suppressed results, deleted rows, and joins with a filtered copy."""

from __future__ import annotations

from typing import Any, cast

import pytest

from forebay.builder import Topology
from forebay.builder.keys import Windowed
from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses
from forebay.time import SessionWindows, SlidingWindows, UnlimitedWindows, hopping, tumbling
from tests.dsl.driving import Driven

WINDOWS: dict[str, Any] = {
    "tumbling": tumbling(5, 1),
    "hopping": hopping(4, 2, 1),
    "sliding": SlidingWindows(5, 1),
    "sessions": SessionWindows(3, 1),
}
SENT = [("k", 1, 10), ("k", 2, 12), ("j", 3, 12), ("k", 4, 11), ("k", 5, 90)]
TEXT: Fold[Any, str] = Fold(lambda: "", lambda _, n, text: f"{text}{n}", merge=lambda _, one, other: one + other)
Result = tuple[str, int, int, Any, int]


def results_by_window(results: list[tuple[Windowed[str], Any, int]]) -> list[Result]:
    return [(key.key, *key.window, value, at) for key, value, at in results]


def results(windows: Any, *, is_suppressed: bool, is_cogroup: bool) -> list[Result]:
    def build(t: Topology) -> None:
        grouped = t.stream("in", int).group_by_key()
        if is_cogroup:
            other = t.stream("other", str).group_by_key()
            cogrouped = grouped.cogroup(TEXT).cogroup(other, TEXT)
            table = cogrouped.windowed_by(windows, EMISSION[is_suppressed]).aggregate(str, store="w")
        else:
            table = grouped.windowed_by(windows, EMISSION[is_suppressed]).aggregate(TEXT, str, store="w")
        if is_suppressed:
            table = table.suppress(UntilWindowCloses(windows), store="held")
        table.to_stream().to("out")

    run = Driven(build)
    sent = [*run.feed("in", *SENT[:2]), *run.feed("in", *SENT[2:4])]
    if is_cogroup:
        sent += run.feed("other", ("k", "x", 12))
    return results_by_window([*sent, *run.feed("in", *SENT[4:])])


EMISSION = {True: Emission.UPDATES, False: Emission.FINAL}


@pytest.mark.parametrize("is_cogroup", [False, True])
@pytest.mark.parametrize("kind", WINDOWS)
def test_suppressed_updates_are_the_finals(kind: str, is_cogroup: bool) -> None:
    """Every way to request final results has one result per window and key."""
    suppressed = results(WINDOWS[kind], is_suppressed=True, is_cogroup=is_cogroup)
    assert sorted(suppressed) == sorted(results(WINDOWS[kind], is_suppressed=False, is_cogroup=is_cogroup))
    assert len({result[:3] for result in suppressed}) == len(suppressed) > 1


def test_finals_of_sliding_windows_and_of_their_cogroup() -> None:
    windows = WINDOWS["sliding"]
    right = [("k", 5, 10, "1", 10), ("k", 6, 11, "14", 11), ("j", 7, 12, "3", 12), ("k", 7, 12, "124", 12),
             ("k", 11, 16, "24", 12), ("k", 12, 17, "2", 12)]  # fmt: skip
    assert results(windows, is_suppressed=False, is_cogroup=False) == right
    both = [(*item[:3], f"{item[3]}x" if item[0] == "k" and item[2] >= 12 else item[3], item[4]) for item in right]
    assert results(windows, is_suppressed=False, is_cogroup=True) == both


def test_an_unlimited_window_is_not_suppressed_until_it_closes() -> None:
    windows = UnlimitedWindows()
    with pytest.raises(ValueError, match="an unlimited window never closes; use UntilTimeLimit"):
        Driven(
            lambda t: (
                t.stream("in", int)
                .group_by_key()
                .windowed_by(windows)
                .count(store="c")
                .suppress(UntilWindowCloses(windows), store="s")
                .to_stream()
                .to("out")
            )
        )


SUM: Fold[int, int] = Fold(
    lambda: 0, lambda _, n, total: cast(int, None if n == 0 else total + n), merge=lambda _, one, other: one + other
)


@pytest.mark.parametrize("is_cogroup", [False, True])
@pytest.mark.parametrize("kind", [*WINDOWS, "unlimited"])
def test_an_aggregate_that_gives_none_deletes_its_row(kind: str, is_cogroup: bool) -> None:
    """Filters, joins and counts behind it see the deletion. The next record starts a new aggregate."""
    windows = WINDOWS.get(kind, UnlimitedWindows())

    def build(t: Topology) -> None:
        grouped = t.stream("in", int).group_by_key()
        if is_cogroup:
            table = grouped.cogroup(SUM).windowed_by(windows).aggregate(int, store="w")
        else:
            table = grouped.windowed_by(windows).aggregate(SUM, int, store="w")
        table.to_stream().to("out")
        table.join(table.filter(lambda _, n: n > 0), lambda a, b: a + b, int).group_by(
            lambda key, _: key.key, str
        ).count(store="rows").to_stream().to("counts")

    run = Driven(build)
    run.feed("in", ("k", 3, 12), ("k", 0, 12))
    assert {value for _, value, _ in run.by_topic("out")[-1:]} == {None}
    assert run.by_topic("counts")[-1][1] == 0
    assert list(run.driver.store("w")) == []
    run.driver.restart()
    run.feed("in", ("k", 5, 12))
    assert run.by_topic("out")[-1][1] == 5
    assert run.by_topic("counts")[-1][1] > 0


def test_a_reduce_in_windows_that_gives_none_deletes_its_row() -> None:
    def build(t: Topology) -> None:
        windowed = t.stream("in", int).group_by_key().windowed_by(tumbling(10))
        windowed.reduce(lambda one, other: cast(int, None if other == 0 else one + other), store="w").to_stream().to(
            "out"
        )

    sent = Driven(build).feed("in", ("k", 3, 1), ("k", 0, 2), ("k", 5, 3))
    assert [(value, at) for _, value, at in sent] == [(3, 1), (None, 2), (5, 3)]


@pytest.mark.parametrize("kind", WINDOWS)
def test_a_deleted_row_has_no_final_result(kind: str) -> None:
    def build(t: Topology) -> None:
        windowed = t.stream("in", int).group_by_key().windowed_by(WINDOWS[kind], Emission.FINAL)
        windowed.aggregate(SUM, int, store="w").to_stream().to("out")

    run = Driven(build)
    assert run.feed("in", ("k", 3, 12), ("k", 0, 12), ("j", 1, 90)) == []


@pytest.mark.parametrize("kind", WINDOWS)
def test_repeated_final_results_are_counted_once(kind: str) -> None:
    """With Emission.BOTH the final result repeats the last update, so it changes nothing in a downstream table."""

    def build(t: Topology) -> None:
        table = t.stream("in", int).group_by_key().windowed_by(WINDOWS[kind], Emission.BOTH).count(store="w")
        table.group_by(lambda key, _: key.key, str).count(store="rows").to_stream().to("out")

    run = Driven(build)
    run.feed("in", ("k", 1, 12), ("k", 1, 12))
    windows = run.by_topic("out")[-1][1]
    run.driver.advance_stream_time(1_000)
    assert run.by_topic("out")[-1][:2] == ("k", windows)


@pytest.mark.parametrize("kind", WINDOWS)
def test_join_sees_only_final_results(kind: str) -> None:
    """A table of final results has no row of an open window, regardless of which side changes."""

    def build(t: Topology) -> None:
        windows = WINDOWS[kind]
        finals = t.stream("in", int).group_by_key().windowed_by(windows, Emission.FINAL).count(store="finals")
        updates = t.stream("other", int).group_by_key().windowed_by(windows).count(store="updates")
        finals.join(updates, lambda a, b: a + b, int).to_stream().to("out")

    run = Driven(build)
    assert run.feed("in", ("k", 1, 12)) == run.feed("other", ("k", 1, 12), ("k", 1, 12)) == []
    run.driver.advance_stream_time(1_000)
    assert {value for _, value, _ in run.by_topic("out")} == {3}


@pytest.mark.parametrize("topic", ["in", "other"])
def test_record_that_triggers_an_emission_is_applied_first(topic: str) -> None:
    """As in Kafka Streams' SuppressScenarioTest. A record of another topic makes it due as well."""

    def build(t: Topology) -> None:
        rows = t.table("in", str, store="in")
        rows.suppress(UntilTimeLimit(10), store="held").to_stream().to("out")
        t.stream("other", str).join(rows, lambda one, other: one + other, str).to("joined")

    run = Driven(build)
    assert run.feed("in", ("k", "old", 0), ("k", "new", 3)) == []
    run.feed(topic, ("k", "newest", 25))
    assert run.by_topic("out") == [("k", "newest", 25) if topic == "in" else ("k", "new", 3)]
    run.feed("in", ("k", "next", 26), ("j", "one", 36))
    assert run.by_topic("out")[1:] == [("k", "next", 26)]


def test_suppressed_rows_are_emitted_on_an_idle_topic_and_after_a_failing_record() -> None:
    def build(t: Topology) -> None:
        def refuse(_: str, value: str) -> bool:
            if value == "bad":
                raise ValueError("bad")
            return True

        rows = t.table("in", str, store="in")
        rows.filter(refuse).suppress(UntilTimeLimit(10), store="held").to_stream().to("out")

    run = Driven(build)
    assert run.feed("in", ("k", "old", 0)) == []
    run.driver.pipe("k", "bad", "in", 25)
    run.driver.restart()
    assert run.by_topic("out") == []
    run.idle(1)
    assert run.by_topic("out") == [("k", "old", 0)]
    run.driver.pipe("j", "next", "in", 30)
    run.idle(9)
    assert run.by_topic("out")[1:] == []
    run.idle(1)
    assert run.by_topic("out")[1:] == [("j", "next", 30)]
