"""Native code and fastavro write the same bytes for a snapshot block, and each reads the other's blocks."""

from __future__ import annotations

import random

import pytest

from forebay.runtime.changelog import stateformat
from forebay.runtime.changelog.stateformat import decode_block, encode_block
from forebay.serde.extension import native_codec
from forebay.stores.table import Change

CHANCE = random.Random(7)
MANY: list[Change] = [
    (CHANCE.randbytes(CHANCE.randrange(200)), CHANCE.randbytes(CHANCE.randrange(40_000)) if number % 5 else None)
    for number in range(300)
]
BLOCKS: list[list[Change]] = [[], [(b"", b"")], [(b"\0", None)], [(b"k" * 63, b"v" * 64), (b"k", b"\xff" * 8192)], MANY]


@pytest.fixture(scope="module")
def plain() -> list[bytes]:
    """Return the blocks as fastavro writes them, after checking that fastavro reads them back."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stateformat, "_encode_rows", lambda _: None)
        patched.setattr(stateformat, "_decode_rows", lambda _: None)
        written = [encode_block(block) for block in BLOCKS]
        assert [decode_block(block) for block in written] == BLOCKS
    return written


@pytest.mark.skipif(native_codec() is None, reason="there is no native code here")
def test_native_code_encodes_all_blocks_if_it_is_available() -> None:
    assert None not in [stateformat._encode_rows(block) for block in BLOCKS]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_native_code_and_fastavro_write_the_same_bytes_and_read_them(number: int, plain: list[bytes]) -> None:
    written = plain[number]
    assert list(decode_block(written)) == BLOCKS[number]
    assert encode_block(BLOCKS[number]) == written


def test_an_array_in_parts_with_sizes_is_read() -> None:
    # Avro allows several parts per array. After a negative count, the part's size in bytes follows.
    assert list(decode_block(b"\x01\x0a\x02a\x02\x02b" + b"\x02\x02c\x00" + b"\x00")) == [(b"a", b"b"), (b"c", None)]


@pytest.mark.parametrize("cut", [0, 1, 5, 40, 1_000])
def test_a_truncated_block_is_refused(cut: int) -> None:
    with pytest.raises((EOFError, IndexError, ValueError)):
        decode_block(encode_block(MANY)[:cut])


def test_an_invalid_row_is_refused() -> None:
    wrong: list[Change] = [(b"a", "text")]  # type: ignore[list-item]
    with pytest.raises((TypeError, ValueError)):
        encode_block(wrong)
