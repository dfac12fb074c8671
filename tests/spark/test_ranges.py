"""Options determine which offsets a read of topics covers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from forebay.spark.errors import OffsetsDeleted, OptionError
from forebay.spark.ranges import (
    Range,
    as_json,
    check_ends,
    check_loss,
    check_offsets,
    check_order,
    from_json,
    limit,
    prune,
    ranges_between,
    rewind,
)

PLACES = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3)),
    st.tuples(st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
)


@given(PLACES, st.integers(1, 40))
def test_a_limit_bounds_a_batch_and_every_waiting_partition_advances(
    places: dict[tuple[str, int], tuple[int, int]], most: int
) -> None:
    start = {place: first for place, (first, _) in places.items()}
    end = {place: first + count for place, (first, count) in places.items()}
    limited = limit(start, end, most)
    waiting = [place for place in places if end[place] > start[place]]
    taken = {place: limited[place] - start[place] for place in places}
    assert all(0 <= taken[place] <= end[place] - start[place] for place in places)
    assert all(taken[place] >= 1 for place in waiting)
    assert sum(taken.values()) <= most + len(waiting)


@given(PLACES)
def test_offsets_survive_the_checkpoint(places: dict[tuple[str, int], tuple[int, int]]) -> None:
    positions = {place: first for place, (first, _) in places.items()}
    assert from_json(as_json(positions)) == positions


def test_a_partition_without_records_is_not_read() -> None:
    start, end = {("a", 0): 3, ("a", 1): 5}, {("a", 0): 3, ("a", 1): 7, ("b", 0): 9}
    assert ranges_between(start, end) == [Range("a", 1, 5, 7)]


def test_deleted_offsets_fail_or_are_left_out() -> None:
    ranges, begins = [Range("a", 0, 2, 9), Range("a", 1, 0, 4)], {("a", 0): 5, ("a", 1): 4}
    with pytest.raises(OffsetsDeleted, match=r"offsets 2 to 4 of a-0 are gone.*failOnDataLoss=false"):
        check_loss(ranges, begins, fails=True)
    assert check_loss(ranges, begins, fails=False) == [Range("a", 0, 5, 9)]
    assert check_loss(ranges, {}, fails=False) == [], "the topic is gone"


def test_a_start_after_the_end_is_refused_and_one_at_the_end_is_empty() -> None:
    check_order({("a", 0): 5, ("a", 1): 0}, {("a", 0): 5, ("a", 1): 2}, {}, fails=True)
    for fails in (True, False):
        with pytest.raises(OptionError, match=r"a-1: the read starts at offset 6, which is after its end, offset 5"):
            check_order({("a", 0): 5, ("a", 1): 6}, {("a", 0): 5, ("a", 1): 5}, {("a", 1): 5}, fails=fails)


def test_an_end_that_retention_deleted_is_data_loss() -> None:
    start, end, begins = {("a", 0): 9}, {("a", 0): 5}, {("a", 0): 9}
    with pytest.raises(OffsetsDeleted, match=r"a-0 begins at offset 9, so the records before.*offset 5, are gone"):
        check_order(start, end, begins, fails=True)
    check_order(start, end, begins, fails=False)


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (EqualTo(("topic",), "b"), []),
        (In(("topic",), ("a", "b")), [(2, 9)]),
        (EqualTo(("partition",), 1), []),
        (In(("partition",), (0, 1)), [(2, 9)]),
        (EqualTo(("offset",), 4), [(4, 5)]),
        (GreaterThan(("offset",), 4), [(5, 9)]),
        (GreaterThanOrEqual(("offset",), 4), [(4, 9)]),
        (LessThan(("offset",), 4), [(2, 4)]),
        (LessThanOrEqual(("offset",), 4), [(2, 5)]),
        (LessThan(("offset",), 2), []),
        (EqualTo(("value", "offset"), 4), [(2, 9)]),
    ],
)
def test_filters_prune_only_what_cannot_match(condition: Any, kept: list[tuple[int, int]]) -> None:
    pruned = prune([Range("a", 0, 2, 9)], [condition])
    assert [(item.start, item.end) for item in pruned] == kept


@pytest.mark.parametrize(
    ("offset", "message"),
    [(10, "a-0 has no offset 10: its committed records end at offset 9. Write -1"), (-3, "a-0 has no offset -3")],
)
def test_an_offset_that_no_record_can_have_is_refused(offset: int, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_offsets({("a", 0): offset}, {("a", 0): 9})


@given(st.integers(-2, 9))
def test_every_other_offset_is_accepted(offset: int) -> None:
    check_offsets({("a", 0): offset}, {("a", 0): 9})


@given(PLACES, PLACES)
def test_a_partition_that_ends_before_its_position_fails_or_is_read_from_its_beginning(
    before: dict[tuple[str, int], tuple[int, int]], after: dict[tuple[str, int], tuple[int, int]]
) -> None:
    positions = {place: first for place, (first, _) in before.items()}
    begins = {place: first for place, (first, _) in after.items()}
    ends = {place: first + count for place, (first, count) in after.items()}
    shorter = {place for place, offset in positions.items() if ends.get(place, offset) < offset}
    result = rewind(positions, ends, begins)
    assert result == {place: begins[place] if place in shorter else offset for place, offset in positions.items()}
    if shorter:
        with pytest.raises(OffsetsDeleted, match="the topic was created again"):
            check_ends(positions, ends)
    else:
        check_ends(positions, ends)
