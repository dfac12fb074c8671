"""Users can derive their own windows from forebay.time.Windows, such as calendar days of 23 to 25 hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.builder import Topology, TopologyError
from forebay.builder.keys import Windowed
from forebay.operators import Emission, UntilWindowCloses
from forebay.queries.reads import Bounds, reads_of
from forebay.time import Window, Windows, hopping
from tests.dsl.driving import Driven

HOUR = 3_600_000


@dataclass(frozen=True)
class Days(Windows):
    """Calendar days of a time zone."""

    zone: str = "Europe/Berlin"
    grace_ms: int = 0
    size_ms = 25 * HOUR

    def windows_for(self, ts: int) -> list[Window]:
        zone = ZoneInfo(self.zone)
        day = datetime.fromtimestamp(ts // 1_000, zone).date()
        start, end = (datetime.combine(day + timedelta(days), time(), zone) for days in (0, 1))
        return [Window(int(start.timestamp()) * 1_000, int(end.timestamp()) * 1_000)]


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000


SHORT = Window(utc("2026-03-28T23:00"), utc("2026-03-29T22:00"))
LONG = Window(utc("2026-10-24T22:00"), utc("2026-10-25T23:00"))


def values_by_window(results: Sequence[tuple[Windowed[str], Any, int]]) -> list[tuple[Window, Any]]:
    return [(key.window, value) for key, value, _ in results]


@pytest.mark.parametrize(("day", "hours"), [(SHORT, 23), (LONG, 25)])
@pytest.mark.parametrize("is_suppressed", [False, True])
def test_a_day_is_final_at_its_own_end(day: Window, hours: int, is_suppressed: bool) -> None:
    def build(t: Topology) -> None:
        grouped = t.stream("in", str).group_by_key()
        if is_suppressed:
            counts = grouped.windowed_by(Days()).count(store="days")
            counts.suppress(UntilWindowCloses(Days()), store="held").to_stream().to("out")
        else:
            grouped.windowed_by(Days(), Emission.FINAL).count(store="days").to_stream().to("out")

    assert day.end - day.start == hours * HOUR
    run = Driven(build, tasks=2)
    assert run.feed("in", ("k", "a", day.start), ("k", "b", day.end - 1)) == []
    run.driver.restart()
    assert values_by_window(run.feed("in", ("k", "c", day.end))) == [(day, 2)]
    assert values_by_window(run.idle(24 * HOUR)) == [(Days().windows_for(day.end)[0], 1)]


def test_updates_late_records_and_the_end_of_retention() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).group_by_key().windowed_by(Days(grace_ms=HOUR)).count(store="days").to_stream().to("out")

    run = Driven(build)
    sent = run.feed("in", ("k", "a", SHORT.start), ("k", "b", SHORT.end), ("k", "c", SHORT.end - 1))
    assert values_by_window(sent) == [(SHORT, 1), (Days().windows_for(SHORT.end)[0], 1), (SHORT, 2)]
    assert run.feed("in", ("k", "d", SHORT.end + HOUR), ("k", "e", SHORT.end - 1))[1:] == []
    assert len(run.driver.late) == 1
    run.driver.restart()
    run.feed("in", *(("k", "f", SHORT.end + days * 24 * HOUR) for days in range(2, 9)))
    assert SHORT.start not in {entry.start for entry in run.driver.store("days")}


def test_queries_show_each_window_s_own_end() -> None:
    run = Driven(
        lambda t: t.stream("in", str).group_by_key().windowed_by(Days()).count(store="days").to_stream().to("out")
    )
    run.feed("in", ("k", "a", SHORT.start), ("k", "b", SHORT.end))
    (store,) = run.driver.sub_topologies[0].stores("days")
    results = [
        Window(cast(int, entry.start), cast(int, entry.end)) for entry in reads_of(store).lookup(store, "k", Bounds())
    ]
    assert results == [SHORT, Days().windows_for(SHORT.end)[0]]


def test_joins_and_groups_of_own_windows() -> None:
    def build(t: Topology) -> None:
        counts = t.stream("in", str).group_by_key().windowed_by(Days()).count(store="days")
        twice = counts.filter(lambda _, n: n > 1)
        counts.left_join(twice, lambda one, other: one + (other or 0), int).group_by(lambda key, _: key.key, str).count(
            store="per-key"
        ).to_stream().to("out")

    sent = Driven(build).feed("in", ("k", "a", SHORT.start), ("k", "b", SHORT.start), ("k", "c", SHORT.end))
    assert [value for _, value, _ in sent] == [1, 1, 2]


@dataclass(frozen=True)
class Hops(Windows):
    """Hopping windows as a user may implement them."""

    size_ms: int = 6
    grace_ms: int = 2

    def windows_for(self, ts: int) -> list[Window]:
        return [Window(start, start + self.size_ms) for start in range(0, ts + 1, 4) if start + self.size_ms > ts]


@pytest.mark.long
@settings(deadline=None, max_examples=40)
@given(
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=12),
    emission=st.sampled_from(Emission),
    is_restarted=st.booleans(),
)
def test_custom_windows_behave_like_built_in_windows(
    records: list[tuple[str, int]], emission: Emission, is_restarted: bool
) -> None:
    def counting(windows: Windows) -> Driven:
        return Driven(
            lambda t: (
                t.stream("in", str).group_by_key().windowed_by(windows, emission).count(store="w").to_stream().to("out")
            )
        )

    runs = [counting(Hops()), counting(hopping(6, 4, 2))]
    for number, (key, step) in enumerate(records):
        for run in runs:
            run.pipe("in", key, "x", max(0, 2 * number + step - 4))
            if is_restarted and number % 3 == 2:
                run.driver.restart()
    for run in runs:
        run.driver.advance_stream_time(100)
    assert runs[0].by_topic("out") == runs[1].by_topic("out")
    assert len(runs[0].driver.late) == len(runs[1].driver.late)


class NoSize(Windows):
    def windows_for(self, ts: int) -> list[Window]:
        return [Window(ts, ts + 1)]


class NoStart(Windows):
    size_ms = 10

    def windows_for(self, ts: int) -> list[Window]:
        return [Window(ts - 5, ts + 5)]


def test_invalid_custom_windows_are_refused() -> None:
    with pytest.raises(TopologyError, match="size_ms is None: set it to the length of the longest window in ms"):
        Topology().stream("in", str).group_by_key().windowed_by(NoSize())
    with pytest.raises(ValueError, match=r"NoStart: windows_for\(5\) has no window that starts at 5: add it"):
        NoStart().window_from(5)
