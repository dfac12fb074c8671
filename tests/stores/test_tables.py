"""Every table implementation has the same order, scans, sizes and tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.stores import memory
from forebay.stores.disk import DiskTable
from forebay.stores.memory import MemoryTable
from forebay.stores.ordered import PythonRows
from forebay.stores.table import NO_TAG, Table, prefix_end

KEYS = st.binary(min_size=1, max_size=3) | st.binary(max_size=4).map(lambda end: b"long" * 127 + end)
CHANGES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=3)), max_size=40)


@pytest.fixture(params=["in_memory", "in_python", "persistent", "persistent, without a buffer"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    if request.param == "in_python":
        monkeypatch.setattr(memory, "ordered_rows", PythonRows)
    result: Table = MemoryTable()
    if request.param.startswith("persistent"):
        result = DiskTable(str(tmp_path), "t", 1 << 28 if request.param == "persistent" else 0)
    yield result
    result.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(batches=st.lists(CHANGES, max_size=4), low=st.binary(max_size=2) | KEYS, high=st.none() | KEYS)
def test_a_table_is_an_ordered_dict(
    table: Table, batches: list[list[tuple[bytes, bytes | None]]], low: bytes, high: bytes | None
) -> None:
    table.clear()
    model: dict[bytes, bytes] = {}
    for changes in batches:
        table.apply(changes, b"t")
        for key, value in changes:
            if value is None:
                model.pop(key, None)
            else:
                model[key] = value
    inside = sorted((k, v) for k, v in model.items() if k >= low and (high is None or k < high))
    assert list(table.scan(low, high)) == inside
    assert list(table.scan_reverse(low, high)) == inside[::-1]
    assert len(table) == len(model)
    assert table.size_bytes == sum(len(k) + len(v) for k, v in model.items())
    assert table.footprint_bytes >= table.size_bytes
    assert all(table.get(k) == v for k, v in model.items())


def test_a_table_has_the_tag_applied_last(table: Table) -> None:
    assert table.tag == NO_TAG
    table.apply([(b"a", b"1")], b"first")
    assert table.tag == b"first"
    table.clear()
    assert (table.tag, len(table), table.get(b"a")) == (NO_TAG, 0, None)


def test_a_changed_row_count_survives_many_pages(table: Table) -> None:
    rows = [(b"%05d" % i, b"x") for i in range(2_500)]
    table.apply(rows, b"t")
    assert list(table.scan(b"")) == rows
    assert list(table.scan_reverse(b"")) == rows[::-1]


def test_a_failed_apply_leaves_no_tag_on_disk(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t")
    table.apply([(b"a", b"1")], b"first")
    with pytest.raises(Exception, match="boom"):
        table.apply(_failing(), b"second")
    assert table.tag == NO_TAG
    table.clear()
    table.apply([(b"a", b"2")], b"third")
    assert table.get(b"a") == b"2"
    table.close()


def _failing() -> Iterator[tuple[bytes, bytes | None]]:
    yield b"b", b"2"
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("prefix", "end"), [(b"a", b"b"), (b"a\xff", b"b"), (b"\xff\xff", None), (b"", None), (b"a\x00", b"a\x01")]
)
def test_the_end_of_a_prefix_is_the_first_key_above_it(prefix: bytes, end: bytes | None) -> None:
    assert prefix_end(prefix) == end


def test_rows_and_bytes_are_known_by_store(table: Table) -> None:
    table.apply([(b"one\0a", b"12"), (b"one\0b", b""), (b"two\0a", b"1"), (b"\x01marks\0one\0m", b"1")], b"t")
    table.apply([(b"one\0a", b"1"), (b"two\0a", None), (b"two\0b", None)], b"u")
    assert {name: held for name, held in table.store_sizes().items() if held != (0, 0)} == {"one": (2, 11)}
    table.clear()
    assert table.store_sizes() == {}
