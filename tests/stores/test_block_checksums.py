"""A damaged block of a snapshot is detected and named. Blocks of releases without checksums can still be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forebay.runtime.changelog.stateformat import decode_block, encode_block
from forebay.stores.blocklog import Rewriting, append, catch_up
from forebay.stores.checksum import DamagedBlock
from forebay.stores.directory import Directory
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Change

ROWS: list[Change] = [(b"user-%03d" % number, b"profile" * 9) for number in range(200)]


class Blocks(dict[int, bytes]):
    """Blocks by number (implements `BlockStorage`)."""

    def get_block(self, number: int) -> bytes:
        return self[number]

    def put_block(self, number: int, data: bytes) -> None:
        self[number] = data

    def delete_block(self, number: int) -> None:
        del self[number]


def append_blocks() -> tuple[Directory, Blocks]:
    blocks = [encode_block(ROWS), encode_block([(b"a", None)])]
    directory, put = append(Directory(), blocks, b"t", MemoryTable(), encode_block)
    return directory, Blocks(put)


def rewrite_blocks() -> tuple[Directory, Blocks]:
    table, blocks = MemoryTable(), Blocks()
    table.apply(ROWS, b"t")
    rewriting = Rewriting(table, b"t", encode_block)
    rewriting.put(blocks.put_block, 10)
    return rewriting.directory(), blocks


def read(directory: Directory, blocks: Blocks) -> MemoryTable:
    table = MemoryTable()
    catch_up(table, directory, blocks, decode_block)
    return table


@pytest.mark.parametrize("write", [append_blocks, rewrite_blocks])
@pytest.mark.parametrize("at", [0, 2, 6, 9, 700, -1])
def test_one_changed_bit_is_noticed(write: Callable[[], tuple[Directory, Blocks]], at: int) -> None:
    directory, blocks = write()
    damaged = bytearray(blocks[0])
    damaged[at] ^= 0x10
    blocks[0] = bytes(damaged)
    with pytest.raises(DamagedBlock, match=r"block 0{16} is damaged: "):
        read(directory, blocks)


@pytest.mark.parametrize("left", [0, 3, 6, 500])
def test_a_truncated_block_is_detected(left: int) -> None:
    directory, blocks = rewrite_blocks()
    blocks[0] = blocks[0][:left]
    with pytest.raises(DamagedBlock):
        read(directory, blocks)


def test_swapped_blocks_are_detected() -> None:
    directory, blocks = append_blocks()
    blocks[0], blocks[1] = blocks[1], blocks[0]
    with pytest.raises(DamagedBlock, match=r"block 0{16} is damaged"):
        read(directory, blocks)


@pytest.mark.parametrize("write", [append_blocks, rewrite_blocks])
def test_blocks_without_checksums_are_read(write: Callable[[], tuple[Directory, Blocks]]) -> None:
    directory, blocks = write()
    old = Blocks({number: data[8:] for number, data in blocks.items()})
    assert old[0] == encode_block(ROWS)
    assert list(read(directory, old).scan(b"")) == list(read(directory, blocks).scan(b"")) == ROWS
