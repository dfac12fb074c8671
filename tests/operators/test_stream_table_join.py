"""Stream-table joins look up the current row, or a versioned table's row as of the record's time after a grace."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import Join, LatestByOffset, LatestByTimestamp, Result, StreamTableJoin
from forebay.stores.buffers import JoinBuffer
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from tests.operators.cells import pair

Joined = StreamTableJoin[Cell, Cell, Cell]


def open_versions(bench: Bench, history: int = 1_000) -> LatestByTimestamp[Cell]:
    return LatestByTimestamp(bench.open(VersionedKeyValueStore("prices", Cell, history_retention_ms=history)))


def waiting(bench: Bench) -> JoinBuffer[Cell]:
    return bench.open(JoinBuffer("waiting", Cell))


def test_the_table_is_looked_up_as_of_the_record_inclusive(bench: Bench) -> None:
    table = open_versions(bench)
    table.update("k", Cell("1"), 10)
    table.update("k", Cell("2"), 20)
    join: Joined = StreamTableJoin(table, Join.LEFT, pair)
    values = [join.process("k", Cell("a"), ts)[0].value for ts in (9, 10, 19, 20)]
    assert values == [Cell("a-"), Cell("a1"), Cell("a1"), Cell("a2")]


def test_an_unversioned_table_is_looked_up_in_its_current_state(bench: Bench) -> None:
    table = LatestByOffset(bench.open(TimestampedKeyValueStore("prices", Cell)))
    table.update("k", Cell("2"), 20)
    join: Joined = StreamTableJoin(table, Join.INNER, pair)
    assert join.process("k", Cell("a"), 5) == [Result("k", Cell("a2"), 5)]
    assert join.process("x", Cell("a"), 5) == []


def test_a_record_waits_until_the_streams_time_reaches_its_own_plus_grace(bench: Bench) -> None:
    table = open_versions(bench)
    join: Joined = StreamTableJoin(table, Join.LEFT, pair, buffer=waiting(bench), grace_ms=5)
    assert join.process("k", Cell("a"), 10) == []
    table.update("k", Cell("1"), 10)
    bench.commit()
    assert join.process("k", Cell("b"), 14) == []
    assert join.process("k", Cell("c"), 15) == [Result("k", Cell("a1"), 10)]


def test_a_record_older_than_the_grace_is_joined_at_once_and_one_at_its_bound_too(bench: Bench) -> None:
    join: Joined = StreamTableJoin(open_versions(bench), Join.LEFT, pair, buffer=waiting(bench), grace_ms=5)
    join.process("k", Cell("a"), 20)
    assert [r.timestamp for r in join.process("k", Cell("b"), 14)] == [14]
    assert [r.timestamp for r in join.process("k", Cell("c"), 15)] == [15]
    assert join.process("k", Cell("d"), 16) == []


def test_records_of_one_key_and_time_are_all_kept_in_order(bench: Bench) -> None:
    join: Joined = StreamTableJoin(open_versions(bench), Join.LEFT, pair, buffer=waiting(bench), grace_ms=5)
    for text in "bab":
        assert join.process("k", Cell(text), 10) == []
        bench.commit()
    assert [r.value for r in join.release(15)] == [Cell("b-"), Cell("a-"), Cell("b-")]


def test_release_emits_the_buffered_records_of_an_idle_stream(bench: Bench) -> None:
    join: Joined = StreamTableJoin(open_versions(bench), Join.LEFT, pair, buffer=waiting(bench), grace_ms=5)
    join.process("k", Cell("a"), 20)
    assert join.release(24) == []
    assert [r.timestamp for r in join.release(25)] == [20]
    assert [r.timestamp for r in join.process("k", Cell("b"), 20)] == [20]


def test_null_values_and_null_keys(bench: Bench) -> None:
    inner: Joined = StreamTableJoin(open_versions(bench), Join.INNER, pair)
    assert inner.process("k", None, 1) == inner.process(None, Cell("a"), 1) == []
    left: Joined = StreamTableJoin(open_versions(bench), Join.LEFT, pair, buffer=waiting(bench), grace_ms=5)
    assert left.process(None, None, 1) == []
    assert left.process(None, Cell("a"), 1) == [Result(None, Cell("a-"), 1)]


def test_bad_declarations_name_the_store_and_the_remedy(bench: Bench) -> None:
    def declare(table: LatestByOffset[Cell] | LatestByTimestamp[Cell], grace: int, kind: Join = Join.INNER) -> None:
        join: Joined = StreamTableJoin(table, kind, pair, buffer=waiting(bench), grace_ms=grace)
        assert join.release(0) == []

    plain = LatestByOffset(TimestampedKeyValueStore("prices", Cell))
    with pytest.raises(ValueError, match=r"store prices: .* make the table a VersionedKeyValueStore"):
        declare(plain, 0)
    with pytest.raises(ValueError, match=r"store prices: .* longer than .* 100 ms; give .* at least 101"):
        declare(open_versions(bench, 100), 101)
    declare(open_versions(bench, 100), 100)
    with pytest.raises(ValueError, match=r"store prices: .* negative"):
        declare(open_versions(bench), -1)
    with pytest.raises(ValueError, match=r"store prices: .* use inner or left"):
        declare(open_versions(bench), 0, Join.OUTER)
    with pytest.raises(ValueError, match=r"store prices: .* needs a JoinBuffer"):
        StreamTableJoin(open_versions(bench), Join.INNER, pair, grace_ms=1)


STEPS = st.lists(
    st.tuples(st.sampled_from(["order", "price", "gone"]), st.sampled_from("ab"), st.integers(-12, 12)), max_size=30
)


@settings(deadline=None, max_examples=150)
@given(grace=st.integers(0, 8), steps=STEPS)
def test_every_order_is_joined_with_the_price_of_its_time_as_of_its_release(
    grace: int, steps: list[tuple[str, str, int]]
) -> None:
    prices: dict[str, dict[int, Cell | None]] = {"a": {}, "b": {}}
    pending: list[tuple[int, str, int, str]] = []
    orders, clock = -1, 0
    with open_bench(Backend.IN_MEMORY) as bench:
        table = open_versions(bench, 10_000)
        join: Joined = StreamTableJoin(table, Join.LEFT, pair, buffer=waiting(bench), grace_ms=grace)
        for number, (kind, key, step) in enumerate(steps):
            ts = max(0, clock + step)
            clock = max(clock, ts)
            if kind != "order":
                price = Cell(str(number)) if kind == "price" else None
                prices[key][ts] = price
                table.update(key, price, ts)
                bench.commit()
                continue
            orders = max(orders, ts)
            pending.append((ts, key, number, chr(65 + number)))
            out = sorted(item for item in pending if item[0] + grace <= orders)
            pending = [item for item in pending if item not in out]
            expected = []
            for at, item, _, text in out:
                valid = max((t for t in prices[item] if t <= at), default=None)
                expected.append(Result(item, pair(Cell(text), None if valid is None else prices[item][valid]), at))
            assert join.process(key, Cell(chr(65 + number)), ts) == expected
            bench.commit()
