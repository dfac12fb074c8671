"""Stream-stream joins have inclusive window bounds, and emit unmatched records once their window has closed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import Join, Result, StreamStreamJoin
from forebay.stores.buffers import JoinBuffer
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import JoinWindows
from tests.operators.cells import pair

Joined = StreamStreamJoin[Cell, Cell, Cell]


def stream(name: str, retention: int) -> WindowStore[Cell]:
    return WindowStore(name, Cell, size_ms=1, retention_ms=retention, duplicates=Duplicates.KEEP)


def join_on(bench: Bench, windows: JoinWindows, kind: Join) -> Joined:
    keep = max(1, windows.retention_ms)
    return StreamStreamJoin(
        bench.open(stream("left", keep)),
        bench.open(stream("right", keep)),
        windows,
        kind,
        pair,
        left_waiting=bench.open(JoinBuffer("left-waiting", Cell)),
        right_waiting=bench.open(JoinBuffer("right-waiting", Cell)),
    )


@pytest.mark.parametrize(("right", "meets"), [(96, False), (97, True), (105, True), (106, False)])
def test_records_join_up_to_both_inclusive_bounds_in_any_order(bench: Bench, right: int, meets: bool) -> None:
    windows = JoinWindows(before_ms=3, after_ms=5, grace_ms=100)
    join = join_on(bench, windows, Join.INNER)
    join.on_left("k", Cell("a"), 100, 100)
    assert bool(join.on_right("k", Cell("b"), right, 106)) is meets
    assert bool(join.on_left("k", Cell("c"), 100, 106)) is meets


def test_the_result_carries_the_later_timestamp(bench: Bench) -> None:
    join = join_on(bench, JoinWindows(9, 9), Join.INNER)
    join.on_left("k", Cell("a"), 5, 5)
    assert join.on_right("k", Cell("b"), 8, 8) == [Result("k", Cell("ab"), 8)]
    assert join.on_left("k", Cell("c"), 7, 8) == [Result("k", Cell("cb"), 8)]


@pytest.mark.parametrize(("now", "alone"), [(107, False), (108, True)])
def test_an_unmatched_left_record_comes_after_its_window_and_grace(bench: Bench, now: int, alone: bool) -> None:
    join = join_on(bench, JoinWindows(before_ms=3, after_ms=5, grace_ms=2), Join.LEFT)
    assert join.on_left("k", Cell("a"), 100, 100) == []
    bench.commit()
    assert join.release(now) == ([Result("k", Cell("a-"), 100)] if alone else [])


@pytest.mark.parametrize(("now", "alone"), [(105, False), (106, True)])
def test_an_unmatched_right_record_comes_after_its_window_and_grace(bench: Bench, now: int, alone: bool) -> None:
    join = join_on(bench, JoinWindows(before_ms=3, after_ms=5, grace_ms=2), Join.OUTER)
    assert join.on_right("k", Cell("a"), 100, 100) == []
    bench.commit()
    assert join.release(now) == ([Result("k", Cell("-a"), 100)] if alone else [])


@pytest.mark.parametrize(("now", "alone"), [(107, False), (108, True)])
def test_a_record_whose_window_has_closed_on_arrival_is_unmatched_at_once(bench: Bench, now: int, alone: bool) -> None:
    join = join_on(bench, JoinWindows(before_ms=3, after_ms=5, grace_ms=2), Join.LEFT)
    assert bool(join.on_left("k", Cell("a"), 100, now)) is alone


def test_a_matched_record_is_never_emitted_as_unmatched(bench: Bench) -> None:
    join = join_on(bench, JoinWindows(5, 5), Join.OUTER)
    join.on_left("k", Cell("a"), 10, 10)
    join.on_right("k", Cell("b"), 11, 11)
    join.on_left("k", Cell("c"), 12, 12)
    assert join.release(1_000) == []


def test_unmatched_records_are_ordered_by_time_then_side_then_key(bench: Bench) -> None:
    join = join_on(bench, JoinWindows(0, 0), Join.OUTER)
    join.on_right("b", Cell("1"), 5, 5)
    join.on_left("c", Cell("2"), 5, 5)
    join.on_left("a", Cell("3"), 5, 5)
    results = join.on_left("z", Cell("4"), 9, 9)
    assert [(r.key, r.value) for r in results] == [("a", Cell("3-")), ("c", Cell("2-")), ("b", Cell("-1"))]


def test_null_values_and_null_keys(bench: Bench) -> None:
    outer = join_on(bench, JoinWindows(5, 5), Join.OUTER)
    assert outer.on_left("k", None, 1, 1) == outer.on_right("k", None, 1, 1) == []
    assert outer.on_left(None, Cell("a"), 1, 1) == [Result(None, Cell("a-"), 1)]
    assert outer.on_right(None, Cell("a"), 1, 1) == [Result(None, Cell("-a"), 1)]


def test_in_a_left_join_only_left_records_may_be_unmatched(bench: Bench) -> None:
    left = join_on(bench, JoinWindows(5, 5), Join.LEFT)
    assert left.on_right(None, Cell("a"), 1, 1) == []
    assert left.on_right("k", Cell("a"), 1, 1) == []
    assert left.release(1_000) == []
    inner = join_on(bench, JoinWindows(5, 5), Join.INNER)
    assert inner.on_left(None, Cell("a"), 1, 1) == inner.on_left("k", Cell("a"), 1, 1) == []
    assert inner.release(1_000) == []


def test_bad_declarations_name_the_store_and_the_remedy() -> None:
    windows = JoinWindows(3, 5, grace_ms=2)

    def declare(left: WindowStore[Cell], kind: Join) -> None:
        StreamStreamJoin(left, stream("right", 10), windows, kind, pair)

    with pytest.raises(ValueError, match=r"store left: .* specify at least 10 ms"):
        declare(stream("left", 9), Join.INNER)
    with pytest.raises(ValueError, match=r"store left: .* duplicates=Duplicates\.KEEP"):
        declare(WindowStore("left", Cell, size_ms=1, retention_ms=10), Join.INNER)
    with pytest.raises(ValueError, match="store left: a left join needs a JoinBuffer left_waiting"):
        declare(stream("left", 10), Join.LEFT)
    declare(stream("left", 10), Join.INNER)


@settings(deadline=None, max_examples=150)
@given(
    before=st.integers(0, 6),
    after=st.integers(0, 6),
    kind=st.sampled_from(Join),
    records=st.lists(st.tuples(st.sampled_from("LR"), st.sampled_from("ab"), st.integers(-10, 10)), max_size=25),
)
def test_a_join_with_a_long_grace_emits_every_pair_once_and_all_unmatched_records(
    before: int, after: int, kind: Join, records: list[tuple[str, str, int]]
) -> None:
    windows, now, came, got = JoinWindows(before, after, 10_000), 0, [], []
    with open_bench(Backend.IN_MEMORY) as bench:
        join = join_on(bench, windows, kind)
        for number, (side, key, step) in enumerate(records):
            ts = max(0, now + step)
            now = max(now, ts)
            process = join.on_left if side == "L" else join.on_right
            got += process(key, Cell(chr(65 + number)), ts, now)
            came.append((side, key, ts, chr(65 + number)))
            bench.commit()
        got += join.release(10**6)
    left = [item for item in came if item[0] == "L"]
    right = [item for item in came if item[0] == "R"]
    pairs = [(a, b) for a in left for b in right if a[1] == b[1] and a[2] - before <= b[2] <= a[2] + after]
    expected = [(a[1], a[3] + b[3], max(a[2], b[2])) for a, b in pairs]
    if kind is not Join.INNER:
        expected += [(a[1], a[3] + "-", a[2]) for a in left if a not in [p[0] for p in pairs]]
    if kind is Join.OUTER:
        expected += [(b[1], "-" + b[3], b[2]) for b in right if b not in [p[1] for p in pairs]]
    assert sorted((r.key, r.value.json, r.timestamp) for r in got if r.key and r.value) == sorted(expected)


class Model:
    """Both streams as lists, and the list of records without a match so far. Every rule is written out."""

    def __init__(self, windows: JoinWindows, retention: int, kind: Join) -> None:
        self.windows, self.retention, self.kind = windows, retention, kind
        self.kept: dict[str, list[tuple[int, str, str]]] = {"L": [], "R": []}
        self.waiting: list[tuple[int, str, str, str]] = []

    def process(self, side: str, key: str, text: str, ts: int, now: int) -> list[tuple[str, str, int]]:
        given = self.release(now)
        other = "R" if side == "L" else "L"
        before, after = self.windows.before_ms, self.windows.after_ms
        low, high = (ts - before, ts + after) if side == "L" else (ts - after, ts + before)
        newest = max([at for at, _, _ in self.kept[side]] + [ts])
        if ts > newest - self.retention:
            self.kept[side].append((ts, key, text))
        shown = max((at for at, _, _ in self.kept[other]), default=0) - self.retention
        met = sorted(
            (m for m in self.kept[other] if m[1] == key and low <= m[0] <= high and m[0] > shown), key=lambda m: m[0]
        )
        for at, _, partner in met:
            self.waiting = [w for w in self.waiting if (w[0], w[1], w[2]) != (at, other, key)]
            both = text + partner if side == "L" else partner + text
            given.append((key, both, max(ts, at)))
        if not met and (self.kind is Join.OUTER or (self.kind is Join.LEFT and side == "L")):
            if high + self.windows.grace_ms < now:
                given.append((key, alone(side, text), ts))
            else:
                self.waiting.append((ts, side, key, text))
        return given

    def release(self, now: int) -> list[tuple[str, str, int]]:
        def is_closed(record: tuple[int, str, str, str]) -> bool:
            ahead = self.windows.after_ms if record[1] == "L" else self.windows.before_ms
            return record[0] + ahead + self.windows.grace_ms < now

        free = sorted((w for w in self.waiting if is_closed(w)), key=lambda w: w[:3])
        self.waiting = [w for w in self.waiting if not is_closed(w)]
        return [(key, alone(side, text), ts) for ts, side, key, text in free]


def alone(side: str, text: str) -> str:
    return text + "-" if side == "L" else "-" + text


@settings(deadline=None, max_examples=200)
@given(
    before=st.integers(0, 5),
    after=st.integers(0, 5),
    grace=st.integers(0, 4),
    kind=st.sampled_from(Join),
    records=st.lists(st.tuples(st.sampled_from("LR"), st.sampled_from("ab"), st.integers(-14, 8)), max_size=25),
)
def test_a_join_with_any_grace_and_late_records_behaves_like_two_lists(
    before: int, after: int, grace: int, kind: Join, records: list[tuple[str, str, int]]
) -> None:
    windows, now = JoinWindows(before, after, grace), 0
    model = Model(windows, max(1, before + after, windows.retention_ms), kind)
    with open_bench(Backend.IN_MEMORY) as bench:
        join = join_on(bench, windows, kind)
        for number, (side, key, step) in enumerate(records):
            ts, text = max(0, now + step), chr(65 + number)
            now = max(now, ts)
            results = (join.on_left if side == "L" else join.on_right)(key, Cell(text), ts, now)
            got = [(r.key, r.value.json, r.timestamp) for r in results if r.value]
            assert got == model.process(side, key, text, ts, now)
            bench.commit()
