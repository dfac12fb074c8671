"""Rows that are read repeatedly are decoded once. The cache of decoded rows is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal, Rows
from forebay.stores.values import BytesCodec

ROWS = [b"%05d" % number for number in range(6_000)]


class Counted(BytesCodec):
    """A codec that counts decoded rows."""

    decoded = 0

    def decode(self, data: bytes) -> bytes:
        self.decoded += 1
        return super().decode(data)


def rows(codec: Counted, cached: int = 50_000) -> Rows[bytes]:
    table = MemoryTable()
    table.apply([(b"store\0" + key, b"value") for key in ROWS], b"t")
    return Rows("store", table, codec, Journal(), cached)


def count_decoded(codec: Counted, of: Rows[bytes], keys: list[bytes]) -> int:
    """Read these keys within a commit. Return the number of rows that were decoded."""
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


def test_the_cache_of_decoded_rows_is_bounded() -> None:
    codec = Counted()
    of = rows(codec, cached=5_500)
    assert count_decoded(codec, of, [*ROWS, *ROWS]) == 6_000
    assert count_decoded(codec, of, ROWS[:10]) == 10


def test_rows_used_last_are_kept_when_there_are_too_many() -> None:
    codec = Counted()
    of = rows(codec, cached=200)
    often = ROWS[:20]
    count_decoded(codec, of, often)
    for number in range(20, 6_000, 20):
        assert count_decoded(codec, of, [*often, *ROWS[number : number + 20]]) == 20
    assert count_decoded(codec, of, ROWS[20:40]) == 20


def test_rows_that_return_are_decoded_once_while_others_pass() -> None:
    codec = Counted()
    of = rows(codec, cached=12_000)
    count_decoded(codec, of, [*ROWS[:1_000], *ROWS[:1_000]])
    for number in range(1_000, 6_000, 500):
        assert count_decoded(codec, of, [*ROWS[:1_000], *ROWS[number : number + 500]]) == 500


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("get"), st.integers(0, 9), st.none()),
        st.tuples(st.just("put"), st.integers(0, 9), st.none() | st.binary(min_size=1, max_size=1)),
        st.tuples(st.sampled_from(["undo", "settle", "discard"]), st.none(), st.none()),
    ),
    max_size=60,
)


@given(steps=STEPS, cached=st.integers(0, 6))
def test_a_cached_row_always_has_the_last_value_put(
    steps: list[tuple[str, int | None, bytes | None]], cached: int
) -> None:
    table, journal = MemoryTable(), Journal()
    table.apply([(b"store\0%d" % number, b"first") for number in range(5)], b"t")
    of = Rows("store", table, BytesCodec(), journal, cached)
    confirmed: dict[int, bytes | None] = dict.fromkeys(range(5), b"first")
    current = dict(confirmed)
    undone = dict(confirmed)
    for step, number, value in steps:
        if step == "get":
            assert number is not None
            assert of.get(b"%d" % number) == current.get(number)
            continue
        if step == "put":
            assert number is not None
            of.put(b"%d" % number, value)
            current[number] = value
            continue
        if step == "undo":
            journal.roll_back()
            current = dict(undone)
            continue
        journal.commit()
        if step == "settle":
            table.apply(list(of.changes()), b"t")
            of.settle()
            confirmed = dict(current)
        else:
            of.discard()
            current = dict(confirmed)
        undone = dict(current)
    for number in range(10):
        assert of.get(b"%d" % number) == current.get(number)
