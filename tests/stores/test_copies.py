"""A starting task uses a standby's warm copy only if it is complete and consistent with one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.stores.disk import DiskTable
from forebay.stores.memory import MemoryTable
from forebay.stores.standby_tables import CopyTable, copy_file, load_copy
from forebay.stores.table import NO_TAG, Table


@pytest.fixture(params=["memory", "disk"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return MemoryTable() if request.param == "memory" else DiskTable(str(tmp_path), "t")


def test_a_copy_is_read_with_its_tag_while_it_is_written(tmp_path: Path, table: Table) -> None:
    copy = CopyTable(copy_file(str(tmp_path / "new"), "app", 0, 3))
    copy.apply([(b"a", b"1"), (b"b", b"2")], b"one")
    assert load_copy(copy.file, table)
    copy.apply([(b"a", None), (b"c", b"3")], b"two")
    assert (dict(table.scan(b"")), table.tag, len(table), table.size_bytes) == ({b"a": b"1", b"b": b"2"}, b"one", 2, 4)
    assert load_copy(copy.file, table)
    assert (dict(table.scan(b"")), table.tag) == ({b"b": b"2", b"c": b"3"}, b"two")


def test_a_copy_survives_its_process(tmp_path: Path) -> None:
    copy = CopyTable(tmp_path / "copy.sqlite")
    copy.apply([(b"a", b"1")], b"one")
    copy.close()
    again = CopyTable(tmp_path / "copy.sqlite")
    assert (again.tag, len(again), again.size_bytes) == (b"one", 1, 2)
    again.clear()
    again.close()
    assert CopyTable(tmp_path / "copy.sqlite").tag == NO_TAG


@pytest.mark.parametrize("state", ["missing", "empty", "foreign", "unwritten"])
def test_a_file_that_is_no_copy_is_not_used(tmp_path: Path, table: Table, state: str) -> None:
    file = tmp_path / "copy.sqlite"
    if state == "empty":
        file.touch()
    elif state == "foreign":
        file.write_bytes(b"something else" * 100)
    elif state == "unwritten":
        CopyTable(file).close()
    assert not load_copy(file, table)
    assert (len(table), table.tag) == (0, NO_TAG)
