"""The block log restores exactly the table that it was written from, regardless of block sizes and rewrites."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.runtime.changelog.stateformat import decode_block, encode_block
from forebay.stores import blocklog
from forebay.stores.blocklog import Rewriting, append, blocks_of, catch_up, split_changes
from forebay.stores.directory import Directory
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Change

pytestmark = pytest.mark.long


class Blocks:
    def __init__(self) -> None:
        self.blocks: dict[int, bytes] = {}
        self.written: list[int] = []

    def get_block(self, number: int) -> bytes:
        return self.blocks[number]

    def put_block(self, number: int, data: bytes) -> None:
        assert number not in self.blocks
        self.blocks[number] = data

    def delete_block(self, number: int) -> None:
        del self.blocks[number]


class Log:
    """A task's table with its log, commit by commit."""

    def __init__(self) -> None:
        self.table, self.blocks, self.directory, self.batch = MemoryTable(), Blocks(), Directory(), 0

    def write(self, changes: list[Change]) -> int:
        self.batch += 1
        encoded = [encode_block(part) for part in split_changes(changes)]
        before, tag = self.directory, b"tag%d" % self.batch
        self.directory, put = append(before, encoded, tag, self.table, encode_block)
        for number, data in put.items():
            self.blocks.put_block(number, data)
        for number in blocks_of(before) - blocks_of(self.directory):
            self.blocks.delete_block(number)
        self.table.apply(changes, b"tag%d" % self.batch)
        return sum(map(len, put.values()))

    def read(self, table: MemoryTable) -> int:
        return catch_up(table, self.directory, self.blocks, decode_block)


ROWS = st.tuples(st.binary(min_size=1, max_size=2), st.none() | st.binary(max_size=30))


@settings(deadline=None, max_examples=150)
@given(batches=st.lists(st.lists(ROWS, max_size=30), max_size=40), block_bytes=st.sampled_from([40, 200, 900_000]))
def test_reading_the_log_gives_the_table(batches: list[list[Change]], block_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocklog, "BLOCK_BYTES", block_bytes)
        patch.setattr(blocklog, "CATCH_UP_DELTAS", 3)
        log, follower = Log(), MemoryTable()
        for index, changes in enumerate(batches):
            log.write(changes)
            if index % 2:
                log.read(follower)
                assert list(follower.scan(b"")) == list(log.table.scan(b""))
        fresh = MemoryTable()
        log.read(fresh)
        assert list(fresh.scan(b"")) == list(log.table.scan(b""))
        assert fresh.tag == log.directory.tag


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(ROWS, max_size=60),
    meanwhile=st.lists(st.lists(ROWS, max_size=10), max_size=20),
    afterwards=st.lists(st.lists(ROWS, max_size=10), max_size=5),
)
def test_a_table_that_changes_while_it_is_rewritten_is_read_back(
    rows: list[Change], meanwhile: list[list[Change]], afterwards: list[list[Change]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocklog, "BLOCK_BYTES", 60)
        log = Log()
        log.table.apply(rows, b"tag0")
        follower = MemoryTable()
        follower.apply(log.table.scan(b""), b"tag0")
        rewriting = Rewriting(log.table, b"tag0", encode_block, first=7)
        dirty: dict[bytes, None] = {}
        for changes in meanwhile:
            rewriting.put(log.blocks.put_block, 1)
            log.table.apply(changes, b"later")
            dirty.update((key, None) for key, _ in changes)
        rewriting.put(log.blocks.put_block, 1_000)
        assert rewriting.is_done
        assert blocklog.blocks_of(rewriting.directory()) == set(log.blocks.blocks)
        log.directory = rewriting.directory()
        log.write([(key, log.table.get(key)) for key in dirty])
        for changes in afterwards:
            log.write(changes)
        for table in (MemoryTable(), follower):
            log.read(table)
            assert list(table.scan(b"")) == list(log.table.scan(b""))


def test_a_table_a_few_batches_behind_reads_just_those() -> None:
    log, follower = Log(), MemoryTable()
    for n in range(10):
        log.write([(b"%d" % n, b"x" * 100)])
    log.read(follower)
    log.write([(b"a", b"1")])
    log.write([(b"b", b"2")])
    assert log.read(follower) == 2
    assert log.read(follower) == 0


def test_folding_writes_about_twice_the_appended_bytes_and_never_all_rows_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 10_000)
    log = Log()
    rows = [(b"%06d" % n, b"v" * 90) for n in range(10_000)]
    log.write(list(rows))
    state = log.table.size_bytes
    appended = written = 0
    for n in range(400):
        changes: list[Change] = [(b"%06d" % ((n * 37 + i) % 10_000), b"w" * 90) for i in range(50)]
        size = sum(map(len, (encode_block(changes),)))
        total = log.write(changes)
        appended += size
        written += total
        assert total < state / 4 or n < 2
    assert written <= 3.2 * appended + 2 * state
    assert sum(map(len, log.blocks.blocks.values())) <= 3.5 * state


def test_a_large_change_is_split_into_blocks_of_at_most_one_megabyte() -> None:
    changes: list[Change] = [(b"%d" % n, b"x" * 300_000) for n in range(10)]
    parts = list(split_changes(changes))
    assert [change for part in parts for change in part] == changes
    assert max(len(encode_block(part)) for part in parts) <= 1_000_000


def test_deltas_are_deleted_once_every_chunk_includes_them() -> None:
    log = Log()
    for n in range(200):
        log.write([(b"%d" % (n % 7), b"x" * 50)])
    assert len(log.directory.deltas) <= blocklog.CATCH_UP_DELTAS + 1
    assert len(log.blocks.blocks) <= blocklog.CATCH_UP_DELTAS + 3
    assert dataclasses.astuple(log.directory)
