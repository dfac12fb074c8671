"""Store keys of several fields can be split into the fields, sort by them, and can be scanned by the first one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.stores.keys import join_key, split_key

PARTS = st.lists(st.text(alphabet="a\0\1\2:b", max_size=4), min_size=2, max_size=3)


@given(PARTS)
def test_a_joined_key_splits_into_its_fields(parts: list[str]) -> None:
    assert split_key(join_key(*parts)) == tuple(parts)


@given(st.text(max_size=3), st.text(max_size=3), st.text(max_size=3))
def test_keys_of_one_first_field_have_its_prefix_and_no_other(first: str, other: str, last: str) -> None:
    shared = join_key(first)
    assert join_key(first, last).startswith(shared)
    assert join_key(other, last).startswith(shared) == (first == other)


@given(st.text(alphabet="ab\0", max_size=3), st.text(alphabet="ab\0", max_size=3))
def test_keys_sort_by_their_fields(one: str, two: str) -> None:
    assert (join_key(one, "x").encode() < join_key(two, "x").encode()) == (one.encode() < two.encode())
