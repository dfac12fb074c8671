"""Decoded rows are cached if they are read again; the cache is bounded if they are not."""

from __future__ import annotations

from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal, Rows
from forebay.stores.values import BytesCodec

ROWS = [b"%05d" % number for number in range(6_000)]


class Counted(BytesCodec):
    """Counts decoded rows."""

    decoded = 0

    def decode(self, data: bytes) -> bytes:
        self.decoded += 1
        return super().decode(data)


def rows(codec: Counted, cached: int = 50_000) -> Rows[bytes]:
    table = MemoryTable()
    table.apply([(b"store\0" + key, b"value") for key in ROWS], b"t")
    return Rows("store", table, codec, Journal(), cached)


def count_decoded(codec: Counted, of: Rows[bytes], keys: list[bytes]) -> int:
    """Return the number of rows that a commit decodes when it reads these keys."""
    before = codec.decoded
    for key in keys:
        assert of.get(key) == b"value"
    of.settle()
    return codec.decoded - before


def test_rows_that_return_are_decoded_once() -> None:
    codec = Counted()
    of = rows(codec)
    assert count_decoded(codec, of, [*ROWS, *ROWS[:1_000]]) == 6_000
    assert count_decoded(codec, of, ROWS) == 0


def test_many_rows_that_do_not_return_are_not_kept() -> None:
    codec = Counted()
    of = rows(codec)
    assert count_decoded(codec, of, [*ROWS, *ROWS[:100]]) == 6_000
    assert count_decoded(codec, of, ROWS) == 6_000


def test_a_few_rows_are_cached_regardless_of_their_use() -> None:
    codec = Counted()
    of = rows(codec)
    assert count_decoded(codec, of, ROWS[:1_000]) == 1_000
    assert count_decoded(codec, of, ROWS[:1_000]) == 0


def test_rows_that_begin_to_return_are_kept_from_then_on() -> None:
    codec = Counted()
    of = rows(codec)
    assert count_decoded(codec, of, ROWS) == 6_000
    assert count_decoded(codec, of, [*ROWS, *ROWS]) == 6_000
    assert count_decoded(codec, of, ROWS) == 0


def test_no_more_are_kept_than_may_be() -> None:
    codec = Counted()
    of = rows(codec, cached=5_500)
    assert count_decoded(codec, of, [*ROWS, *ROWS]) == 6_000
    assert count_decoded(codec, of, ROWS[:10]) == 10
