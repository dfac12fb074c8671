"""On both backends, every key-value store behaves like its model: plain, timestamped, LRU, TTL, list-value."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.stores.keys import NullKeyError
from forebay.stores.listvalue import ListValueStore
from forebay.stores.lru import LruStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from tests.stores.driving import run

pytestmark = pytest.mark.long

KEYS = st.sampled_from(["a", "aa", "ab", "b", "é"])
VALUES = st.none() | st.integers(0, 9).map(lambda n: Cell(str(n)))
READS = st.one_of(
    st.tuples(st.sampled_from(["get", "delete"]), KEYS),
    st.tuples(st.sampled_from(["range", "reverse_range"]), st.none() | KEYS, st.none() | KEYS),
    st.tuples(st.just("prefix_scan"), st.sampled_from(["", "a", "ab", "c"])),
    st.tuples(st.sampled_from(["all", "reverse_all", "approximate_num_entries", "commit"])),
)
PUTS = st.tuples(st.just("put"), KEYS, VALUES)
NEW = st.tuples(st.just("put_if_absent"), KEYS, VALUES.filter(bool))
UNDO = st.tuples(st.just("undo"), KEYS, VALUES)


class Dict:
    """A dict with a store's operations. Subclasses limit its entries."""

    def __init__(self) -> None:
        self.values: OrderedDict[str, Cell] = OrderedDict()

    def get(self, key: str) -> Cell | None:
        return self.values.get(key)

    def put(self, key: str, value: Cell | None) -> None:
        self.values.pop(key, None)
        if value is not None:
            self.values[key] = value

    def put_if_absent(self, key: str, value: Cell) -> Cell | None:
        result = self.get(key)
        if result is None:
            self.put(key, value)
        return result

    def delete(self, key: str) -> Cell | None:
        result = self.values.get(key)
        self.put(key, None)
        return result

    def range(self, start: str | None, end: str | None) -> list[tuple[str, Cell]]:
        low, high = (start or "").encode(), None if end is None else end.encode()
        items = sorted(self.values.items(), key=lambda item: item[0].encode())
        return [(k, v) for k, v in items if low <= k.encode() and (high is None or k.encode() <= high)]

    def reverse_range(self, start: str | None, end: str | None) -> list[tuple[str, Cell]]:
        return self.range(start, end)[::-1]

    def all(self) -> list[tuple[str, Cell]]:
        return self.range(None, None)

    def reverse_all(self) -> list[tuple[str, Cell]]:
        return self.all()[::-1]

    def prefix_scan(self, prefix: str) -> list[tuple[str, Cell]]:
        return [(k, v) for k, v in self.all() if k.startswith(prefix)]

    def approximate_num_entries(self) -> int:
        return len(self.values)


class Lru(Dict):
    def get(self, key: str) -> Cell | None:
        if key in self.values:
            self.values.move_to_end(key)
        return self.values.get(key)

    def put(self, key: str, value: Cell | None) -> None:
        super().put(key, value)
        if len(self.values) > 2:
            self.values.popitem(last=False)


def check(declared: Any, model: Any, operations: list[tuple[Any, ...]]) -> None:
    with open_bench(Backend.IN_MEMORY) as memory, open_bench(Backend.PERSISTENT) as disk:
        stores = [(memory.open(declared), memory), (disk.open(declared), disk)]
        for name, *arguments in operations:
            if name == "wait":
                model.now += arguments[0]
                memory.clock.closing_time = disk.clock.closing_time = model.now
                continue
            expected = None if name in ("commit", "undo") else getattr(model, name)(*arguments)
            for store, bench in stores:
                assert run(store, bench, name, *arguments) == expected, (name, arguments)
        memory.commit()
        disk.commit()
        assert list(memory.table.scan(b"")) == list(disk.table.scan(b""))


@settings(deadline=None, max_examples=100)
@given(operations=st.lists(st.one_of(PUTS, NEW, READS, UNDO), max_size=30))
def test_lru(operations: list[tuple[Any, ...]]) -> None:
    check(LruStore("s", Cell, max_entries=2), Lru(), operations)


class Ttl(Dict):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.written: dict[str, int] = {}

    def put(self, key: str, value: Cell | None) -> None:
        super().put(key, value)
        self.written[key] = self.now

    def __getattribute__(self, name: str) -> Any:
        if name == "values":
            values: OrderedDict[str, Cell] = object.__getattribute__(self, "values")
            written, now = object.__getattribute__(self, "__dict__").get("written", {}), self.now
            for key in [k for k in values if written.get(k, now) + 10 <= now]:
                del values[key]
            return values
        return object.__getattribute__(self, name)


@settings(deadline=None, max_examples=150)
@given(
    operations=st.lists(st.one_of(PUTS, NEW, READS, UNDO, st.tuples(st.just("wait"), st.integers(1, 11))), max_size=40)
)
def test_ttl(operations: list[tuple[Any, ...]]) -> None:
    check(TtlKeyValueStore("s", Cell, ttl_ms=10), Ttl(), [("wait", 0), *operations])


def test_an_entry_expires_exactly_its_ttl_after_its_last_write(bench: Bench) -> None:
    store = bench.open(TtlKeyValueStore("s", Cell, ttl_ms=10))
    bench.clock.closing_time = 100
    assert store.next_expiry() is None
    store.put("k", Cell("a"))
    bench.clock.closing_time = 105
    store.put("k", Cell("b"))
    assert store.next_expiry() == 110
    bench.commit()
    bench.clock.closing_time = 114
    assert store.get("k") == Cell("b")
    assert store.expire() == 0
    assert store.next_expiry() == 115
    bench.clock.closing_time = 115
    assert store.get("k") is None
    assert list(store.all()) == []
    assert store.expire() == 1
    assert store.next_expiry() is None
    assert (b"s\0k", None) in bench.commit()
    assert not list(bench.table.scan(b"s\0", b"s\x01"))


def test_evictions_are_counted_and_restored_ones_are_not(bench: Bench) -> None:
    store = bench.open(LruStore("s", Cell, max_entries=1))
    store.put("a", Cell("1"))
    store.put("b", Cell("2"))
    store.restore("c", Cell("3"))
    assert store.evicted_total == 1
    assert dict(store.all()) == {"c": Cell("3")}


def test_a_full_lru_store_takes_new_values_for_its_keys_without_evicting(bench: Bench) -> None:
    store = bench.open(LruStore("s", Cell, max_entries=2))
    for key in ("a", "b", "a", "b"):
        store.put(key, Cell(key))
    assert (store.evicted_total, store.approximate_num_entries()) == (0, 2)


def test_a_timestamped_store_keeps_the_last_put_regardless_of_its_timestamp(bench: Bench) -> None:
    store = bench.open(TimestampedKeyValueStore("s", Cell))
    store.put_all([("a", Cell("1"), 10), ("a", Cell("2"), 5), ("b", Cell("3"), 0)])
    bench.commit()
    assert store.get("a") == (Cell("2"), 5)
    assert store.put_if_absent("a", Cell("4"), 20) == (Cell("2"), 5)
    assert store.put_if_absent("c", Cell("4"), 20) is None
    assert store.delete("b") == (Cell("3"), 0)
    assert list(store.reverse_all()) == [("c", (Cell("4"), 20)), ("a", (Cell("2"), 5))]


def test_a_list_is_kept_in_order_and_deleted_as_a_whole(bench: Bench) -> None:
    store = bench.open(ListValueStore("s", Cell))
    for key, value in (("b", "1"), ("a", "2"), ("b", "0"), ("b", "1"), ("bb", "3")):
        store.put(key, Cell(value))
        bench.commit()
    assert [value.json for value in store.get("b")] == ["1", "0", "1"]
    assert [(key, value.json) for key, value in store.all()] == [
        ("a", "2"),
        ("b", "1"),
        ("b", "0"),
        ("b", "1"),
        ("bb", "3"),
    ]
    store.put("b", None)
    assert store.get("b") == ()
    assert store.approximate_num_entries() == 2


@pytest.mark.parametrize(
    "declared",
    [
        TimestampedKeyValueStore("orders", Cell),
        LruStore("orders", Cell, max_entries=1),
        TtlKeyValueStore("orders", Cell, ttl_ms=1),
        ListValueStore("orders", Cell),
    ],
    ids=lambda declared: type(declared).__name__,
)
def test_the_null_key_is_an_error_that_names_the_store(declared: Any, bench: Bench) -> None:
    store = bench.open(declared)
    with pytest.raises(NullKeyError, match="orders"):
        store.get(None)


def test_a_range_takes_both_bounds_and_is_empty_with_a_warning_when_from_lies_above_to(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    store = bench.open(TimestampedKeyValueStore("s", Cell))
    store.put_all([(key, Cell(key), 0) for key in ("a", "b", "c", "cc")])
    assert [key for key, _ in store.range("b", "c")] == ["b", "c"]
    assert [key for key, _ in store.reverse_range("b", "b")] == ["b"]
    assert not caplog.text
    assert list(store.range("c", "b")) == list(store.reverse_range("c", "b")) == []
    assert "store s: range from 'c' to 'b' is empty" in caplog.text


def test_a_full_lru_store_holds_its_maximum_and_evicts_the_least_recently_used_entries(bench: Bench) -> None:
    store = bench.open(LruStore("s", Cell, max_entries=2))
    for key in ("a", "b", "c"):
        store.put(key, Cell(key))
    assert (store.approximate_num_entries(), [key for key, _ in store.all()]) == (2, ["b", "c"])
    bench.commit()
    assert store.get("b") == Cell("b")
    store.put("d", Cell("d"))
    assert [key for key, _ in store.all()] == ["b", "d"]
    store.delete("b")
    assert store.approximate_num_entries() == 1
