"""A table on disk leaves no files behind, and can be used again after the disk was full."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from forebay.codec import Unavailable
from forebay.stores.disk import DiskTable, DiskUnavailable
from forebay.stores.standby_tables import CopyTable
from forebay.stores.table import NO_TAG, Table

ROWS = [(b"%06d" % number, b"x" * 500) for number in range(4_000)]


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Limit the size of files to `limit` bytes, to simulate a full disk."""
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_killed_worker_leaves_no_files(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom forebay.stores.disk import DiskTable\n"
        "table = DiskTable(sys.argv[1], 'app-0-0')\n"
        "table.apply([(b'a', b'1')], b't')\nassert table.get(b'a') == b'1'\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_earlier_releases_are_removed_at_the_start(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = tmp_path / f"app-0-0-{int(ended.stdout)}-abcd_123"
    own = tmp_path / f"app-0-0-{os.getpid()}-abcd_123"
    alive = tmp_path / f"app-0-0-{os.getppid()}-abcd_123"
    other = tmp_path / f"app-0-1-{int(ended.stdout)}-abcd_123"
    for folder in (left, own, alive, other):
        folder.mkdir()
        (folder / "rows.sqlite").write_bytes(b"rows")
    DiskTable(str(tmp_path), "app-0-0").close()
    assert set(tmp_path.iterdir()) == {alive, other}


@pytest.mark.parametrize("kind", ["table", "copy"])
def test_a_table_can_be_used_again_after_the_disk_was_full(tmp_path: Path, kind: str) -> None:
    table: Table = DiskTable(str(tmp_path), "t", 1 << 20) if kind == "table" else CopyTable(tmp_path / "t.sqlite")
    table.apply(ROWS[:100], b"first")
    with full_disk(400_000), pytest.raises((DiskUnavailable, sqlite3.Error)):
        table.apply(ROWS, b"second")
    assert table.tag == NO_TAG
    for _ in range(2):
        table.clear()
        assert (len(table), table.size_bytes, list(table.scan(b""))) == (0, 0, [])
        table.apply(ROWS, b"third")
        assert (table.tag, list(table.scan(b""))) == (b"third", ROWS)
    table.close()


def test_a_table_has_no_tag_while_the_disk_is_full_and_can_be_rebuilt_afterwards(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t", 1 << 20)
    with full_disk(0):
        for _ in range(2):
            with pytest.raises(
                DiskUnavailable, match=r"can't be created: .*; free disk space, or choose another --table-directory"
            ):
                table.clear()
            assert table.tag == NO_TAG
    table.clear()
    table.apply(ROWS, b"first")
    assert len(list(table.scan(b""))) == len(ROWS)
    table.close()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_copy_is_rebuilt(tmp_path: Path) -> None:
    file = tmp_path / "app-0-0.sqlite"
    file.write_bytes(b"no database at all, " * 500)
    copy = CopyTable(file)
    copy.apply(ROWS, b"first")
    assert (copy.tag, len(copy)) == (b"first", len(ROWS))
    copy.close()


def test_another_thread_continues_with_a_table(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t")
    table.apply([(b"a", b"1")], b"one")
    with ThreadPoolExecutor(1) as loop:
        loop.submit(table.apply, [(b"b", b"2")], b"two").result()
    assert list(table.scan(b"")) == [(b"a", b"1"), (b"b", b"2")]
    table.close()


def test_no_row_is_lost_if_the_disk_is_full(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t", 1 << 20)
    table.apply(ROWS[:2_000], b"first")
    before = len(list(table.scan(b"")))
    with full_disk(1 << 20), pytest.raises(DiskUnavailable, match="can't grow to"):
        table.apply(ROWS, b"second")
    assert [table.get(key) for key, _ in ROWS] == [value for _, value in ROWS]
    table.apply((), b"third")
    assert (before, list(table.scan(b"")), len(table)) == (2_000, ROWS, len(ROWS))
    table.close()


def test_no_record_is_blamed_if_a_scan_finds_the_disk_full(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t")
    table.apply(ROWS, b"waits in the buffer")
    with full_disk(1 << 20), pytest.raises(Unavailable):
        next(table.scan(b""))
    assert list(table.scan(b"")) == ROWS
    table.close()


def test_a_scan_continues_after_rows_that_change_or_are_deleted(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path), "t")
    table.apply(ROWS[:100], b"first")
    forward, backward = table.scan(b""), table.scan_reverse(b"")
    assert (next(forward), next(backward)) == (ROWS[0], ROWS[99])
    table.apply([(key, None) for key, _ in ROWS[5:95]], b"second")
    rest = [key for key, _ in forward]
    assert rest == sorted(rest)
    assert {key for key, _ in [*ROWS[1:5], *ROWS[95:100]]} <= set(rest)
    assert set(rest) <= {key for key, _ in ROWS[:100]}
    assert [key for key, _ in backward][-5:] == [key for key, _ in reversed(ROWS[:5])]
    table.close()
