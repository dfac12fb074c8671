"""The directory of a task's block log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from forebay.stores.table import NO_TAG

NO_BLOCK = -1


@dataclass(frozen=True, slots=True)
class Delta:
    """The changes between two snapshots, in the blocks `block` to `block + count - 1`."""

    sequence: int
    tag: bytes
    block: int
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows from key `start` up to the next chunk's start, as of delta `folded`.

    Its block may also contain rows outside of this range. They are outdated and ignored.
    """

    start: bytes
    folded: int
    block: int


@dataclass(frozen=True, slots=True)
class Directory:
    """The live blocks of a log.

    Args:
        chunks: Chunks in order of keys. The first one starts at the empty key.
        deltas: Deltas in order of sequence numbers.
        cursor: Key at which folding resumes.
        credit: Bytes that folding may write.
        next_block: Number of the next block.
    """

    chunks: tuple[Chunk, ...] = (Chunk(b"", -1, NO_BLOCK),)
    deltas: tuple[Delta, ...] = ()
    cursor: bytes = b""
    credit: int = 0
    next_block: int = 0

    @property
    def tag(self) -> bytes:
        """Tag of the newest delta."""
        return self.deltas[-1].tag if self.deltas else NO_TAG

    @property
    def sequence(self) -> int:
        """Sequence number of the newest delta; -1 if there is no delta."""
        return self.deltas[-1].sequence if self.deltas else -1

    def after(self, tag: bytes) -> tuple[Delta, ...] | None:
        """Return the deltas that update a table with `tag` to the newest state, or None if they are gone."""
        # Search from the newest one, because most tables are only slightly behind.
        for index in range(len(self.deltas) - 1, -1, -1):
            if self.deltas[index].tag == tag:
                return self.deltas[index + 1 :]
        return None


def folded_at(chunks: Sequence[Chunk], starts: Sequence[bytes], key: bytes) -> int:
    """Return the sequence number up to which the chunk of `key` contains all changes."""
    return chunks[bisect_right(starts, key) - 1].folded


def replace_range(
    chunks: tuple[Chunk, ...], start: bytes, end: bytes | None, folded: int, block: int
) -> tuple[Chunk, ...]:
    """Return the chunks with the range [start, end) (None: to the end) replaced by a new chunk."""
    before = [chunk for chunk in chunks if chunk.start < start]
    after = [chunk for chunk in chunks if end is not None and chunk.start >= end]
    if end is not None and (not after or after[0].start > end):
        # The new chunk ends within an older one, whose remaining range keeps its block. Rows of that block before `end`
        # are ignored from now on.
        covering = max((chunk for chunk in chunks if chunk.start < end), key=lambda chunk: chunk.start)
        after.insert(0, Chunk(end, covering.folded, covering.block))
    replaced = (*before, Chunk(start, folded, block), *after)
    assert are_whole(replaced), "folding would lose the rows of a range of keys, or hold them twice"
    return replaced


def are_whole(chunks: Sequence[Chunk]) -> bool:
    """Return whether chunks contain each key exactly once: they begin at the empty key and have ascending starts."""
    return chunks[0].start == b"" and all(one.start < other.start for one, other in pairwise(chunks))
