"""The block log, in which the snapshots of a table are written incrementally as blocks.

Each snapshot appends the rows that have changed since the last one as a delta. It then folds, which means that it
rewrites ranges of the table as chunks, FOLD_FACTOR times as many bytes as it appended. Once every chunk contains a
delta, the delta is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from forebay.stores.checksum import DamagedBlock, seal, unseal
from forebay.stores.directory import NO_BLOCK, Chunk, Delta, Directory, are_whole, folded_at, replace_range
from forebay.stores.table import Change, Table

BLOCK_BYTES = 900_000
"""Target size of a block. Encoding it takes 2 ms on one core, between two commits. Each block is a file."""
FOLD_FACTOR = 2
"""Bytes of the table that are folded per appended byte.

Measured with uniform random updates, without spare deltas, as bytes written per changed byte and size of the log
relative to the table: factor 1: 2 bytes, 2.1 times; 2: 3 bytes, 1.6 times; 3: 4 bytes, 1.4 times; 4: 5 bytes, 1.3
times. Beyond 2, a further byte written shortens a load by less than a fifth of the table.
"""
CATCH_UP_DELTAS = 32
CATCH_UP_BYTES = 8_000_000

Encode = Callable[[list[Change]], bytes]
Decode = Callable[[bytes], Iterable[Change]]


class BlockStorage(Protocol):
    """The storage of blocks."""

    def get_block(self, number: int) -> bytes:
        """Return a block. Raise KeyError if there is no such block."""
        ...

    def put_block(self, number: int, data: bytes) -> None: ...


def split_changes(changes: list[Change]) -> Iterator[list[Change]]:
    """Divide changes into lists of about BLOCK_BYTES each. A row is never divided."""
    rows: list[Change] = []
    size = 0
    for change in changes:
        row = len(change[0]) + len(change[1] or b"") + 8
        if rows and size + row > BLOCK_BYTES:
            yield rows
            rows, size = [], 0
        rows.append(change)
        size += row
    if rows:
        yield rows


def append(
    directory: Directory, blocks: list[bytes], tag: bytes, table: Table, encode: Encode
) -> tuple[Directory, dict[int, bytes]]:
    """Append encoded changes as a delta, and rewrite as many bytes of the table as the credit that they add allows.

    Args:
        directory: Directory of the log so far. Its newest delta is older than `tag`.
        blocks: Changed rows, encoded.
        tag: Tag of the table with the changes.
        table: Table, which may already have the changes.

    Returns:
        The new directory of the log, and the blocks by number, which must be stored before the directory is used.
    """
    put = {number: seal(number, block) for number, block in enumerate(blocks, directory.next_block)}
    size = sum(map(len, blocks))
    folding = replace(
        directory, next_block=directory.next_block + len(blocks), credit=directory.credit + FOLD_FACTOR * size
    )
    # Fold before the new delta is added. Folding marks chunks with the previous sequence, so that the delta is applied
    # to them.
    folding = _fold(folding, table, encode, put)
    delta = Delta(directory.sequence + 1, tag, directory.next_block, len(blocks), size)
    result = replace(folding, deltas=_live(folding, delta))
    assert result.tag == tag, "the newest delta of the log was not appended just now"
    assert max(put, default=-1) < result.next_block, "the next block would replace one that was just encoded"
    assert all(delta.sequence > old.sequence for old in directory.deltas), "the new delta is not the last one"
    return result, put


class Rewriting:
    """The rewriting of a whole table as blocks of an empty log, a few at a time, while the table changes.

    Once it is done, append all changes since its beginning to the log.

    Args:
        tag: Tag of the table at the beginning.
        first: Number of the first block.
    """

    def __init__(self, table: Table, tag: bytes, encode: Encode, first: int = 0) -> None:
        self._table, self._tag, self._encode, self._next = table, tag, encode, first
        self._chunks: list[Chunk] = []
        self._start: bytes | None = b""

    @property
    def is_done(self) -> bool:
        """Whether all rows were put."""
        return self._start is None

    def put(self, put: Callable[[int, bytes], None], most: int) -> int:
        """Put the next blocks, at most `most`. Return their number."""
        begun = self._next
        while self._start is not None and self._next - begun < most:
            rows, end = _range(self._table, self._start)
            if rows:
                put(self._next, seal(self._next, self._encode(rows)))
            self._chunks.append(Chunk(self._start, 0, self._next if rows else NO_BLOCK))
            self._start, self._next = end, self._next + 1
        return self._next - begun

    def directory(self) -> Directory:
        """Return the directory of the blocks that were put so far, with the tag of the beginning."""
        return Directory(tuple(self._chunks), (Delta(0, self._tag, self._next, 0, 0),), next_block=self._next)


def _fold(directory: Directory, table: Table, encode: Encode, put: dict[int, bytes]) -> Directory:
    """Rewrite ranges of the table as chunks until the credit is used. Return the directory. Add blocks to `put`."""
    target = min(BLOCK_BYTES, table.size_bytes)
    # A folded chunk contains every delta up to `newest`. It may also have rows of the delta that is appended next. This
    # is correct, because a reader applies that delta again.
    newest = directory.sequence
    while directory.credit >= target and any(chunk.folded < newest for chunk in directory.chunks):
        rows, end = _range(table, directory.cursor)
        block, credit = NO_BLOCK, directory.credit
        if rows:
            block = directory.next_block
            put[block] = data = seal(block, encode(rows))
            credit -= len(data)
        directory = replace(
            directory,
            chunks=replace_range(directory.chunks, directory.cursor, end, newest, block),
            cursor=end or b"",
            credit=credit,
            next_block=directory.next_block + (block != NO_BLOCK),
        )
    if all(chunk.folded >= newest for chunk in directory.chunks):
        # Unused credit must not cause a burst of folding later.
        directory = replace(directory, credit=0)
    return directory


def _range(table: Table, start: bytes) -> tuple[list[Change], bytes | None]:
    rows: list[Change] = []
    size = 0
    for key, value in table.scan(start):
        size += len(key) + len(value) + 8
        # A row that is larger than a block gets a separate block.
        if rows and size > BLOCK_BYTES:
            return rows, key
        rows.append((key, value))
    return rows, None


def _live(directory: Directory, newest: Delta) -> tuple[Delta, ...]:
    # A delta is needed until every chunk contains it. A few older ones remain for tables that are behind, so that they
    # catch up without reading all blocks.
    folded = min(chunk.folded for chunk in directory.chunks)
    deltas = (*directory.deltas, newest)
    count, size = len(deltas), 0
    for delta in reversed(deltas):
        size += delta.size
        needed = delta.sequence > folded
        spare = len(deltas) - count < CATCH_UP_DELTAS and size <= CATCH_UP_BYTES
        if delta is not newest and not needed and not spare:
            break
        count -= 1
    return deltas[count:]


def blocks_of(directory: Directory) -> set[int]:
    """Return the numbers of the live blocks."""
    blocks = {chunk.block for chunk in directory.chunks if chunk.block != NO_BLOCK}
    for delta in directory.deltas:
        blocks.update(range(delta.block, delta.block + delta.count))
    return blocks


def catch_up(table: Table, directory: Directory, storage: BlockStorage, decode: Decode) -> int:
    """Update a table to the directory's tag with the missing deltas or, if they are gone, with all blocks.

    Returns:
        The number of blocks that were read.

    Raises:
        DamagedBlock: A block differs from what was written.
    """
    if table.tag == directory.tag:
        return 0
    # The table of a standby or of a previous loop lacks only the latest deltas.
    missing = directory.after(table.tag)
    if missing is None:
        return _rebuild(table, directory, storage, decode)
    sequence = directory.sequence - len(missing)
    assert all(delta.sequence == at for at, delta in enumerate(missing, sequence + 1)), "a delta of the log is missing"
    for delta in missing:
        table.apply(_delta_changes(delta, storage, decode), delta.tag)
    return sum(delta.count for delta in missing)


def _rebuild(table: Table, directory: Directory, storage: BlockStorage, decode: Decode) -> int:
    table.clear()
    # Apply all rows at once, because a table sorts them much faster than block by block.
    table.apply(_all_rows(directory, storage, decode), directory.tag)
    chunks, deltas = directory.chunks, directory.deltas
    return sum(chunk.block != NO_BLOCK for chunk in chunks) + sum(delta.count for delta in deltas)


def _all_rows(directory: Directory, storage: BlockStorage, decode: Decode) -> Iterator[Change]:
    chunks = directory.chunks
    starts = [chunk.start for chunk in chunks]
    assert are_whole(chunks), "the chunks of a snapshot do not hold each key exactly once"
    for chunk, end in zip(chunks, [*starts[1:], None], strict=True):
        if chunk.block != NO_BLOCK:
            for key, value in _block(chunk.block, storage, decode):
                if key >= chunk.start and (end is None or key < end):
                    yield key, value
    for delta in directory.deltas:
        for key, value in _delta_changes(delta, storage, decode):
            # A chunk that was folded after this delta contains this change or a newer one.
            if delta.sequence > folded_at(chunks, starts, key):
                yield key, value


def _delta_changes(delta: Delta, storage: BlockStorage, decode: Decode) -> Iterator[Change]:
    for number in range(delta.block, delta.block + delta.count):
        yield from _block(number, storage, decode)


def _block(number: int, storage: BlockStorage, decode: Decode) -> Iterable[Change]:
    data = unseal(number, storage.get_block(number))
    try:
        return decode(data)
    # A lack of memory is no damage. If it were treated as damage, an intact snapshot would be discarded.
    except MemoryError:
        raise
    except Exception as error:
        raise DamagedBlock(number, f"it can't be read: {error!r}") from error
