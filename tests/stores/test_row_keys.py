"""Row keys sort as their parts (key and time) do, and can be split into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.stores.keys import FOREVER, after, pack_time, split_text, terminate, unpack_time

pytestmark = pytest.mark.long

TIMES = st.integers(-(1 << 62), FOREVER)
TEXTS = st.text(st.sampled_from("\0\x01ab\xff"), max_size=4)


@given(a=st.tuples(TEXTS, TIMES), b=st.tuples(TEXTS, TIMES))
def test_a_key_and_a_time_sort_by_key_then_time(a: tuple[str, int], b: tuple[str, int]) -> None:
    def row(part: tuple[str, int]) -> bytes:
        return terminate(part[0].encode()) + pack_time(part[1])

    def parts(part: tuple[str, int]) -> tuple[bytes, int]:
        return part[0].encode(), part[1]

    assert (row(a) < row(b)) == (parts(a) < parts(b))
    assert (row(a) == row(b)) == (a == b)


@given(text=TEXTS, time=TIMES)
def test_a_row_key_splits_into_its_parts(text: str, time: int) -> None:
    row = terminate(text.encode()) + pack_time(time)
    result, at = split_text(row)
    assert (result, unpack_time(row, at)) == (text, time)
    assert split_text(pack_time(time) + terminate(text.encode()), 8) == (text, 8 + at)


@given(a=TEXTS, b=TEXTS, time=TIMES)
def test_the_rows_of_a_key_lie_between_its_prefix_and_the_next(a: str, b: str, time: int) -> None:
    low, row = terminate(a.encode()), terminate(b.encode()) + pack_time(time)
    assert (low <= row < after(low)) == (a == b)


@given(time=TIMES)
def test_after_a_time_comes_the_next_millisecond(time: int) -> None:
    assert pack_time(time) + b"\xff" < after(pack_time(time)) <= pack_time(time + 1)


def test_times_beyond_64_bits_become_the_nearest_that_fits() -> None:
    assert pack_time(-(1 << 80)) == b"\0" * 8
    assert pack_time(1 << 80) == b"\xff" * 8
    assert after(pack_time(1 << 80)) > pack_time(1 << 80)
