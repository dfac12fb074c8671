"""Partitions added to an input are read from their beginning. A number that doesn't fit the tasks stops the job."""

from __future__ import annotations

import pytest

from forebay.runtime.protocol.lease import Partitioned

pytest.importorskip("pyspark")

from forebay.runtime.errors import TopicChanged
from forebay.runtime.spark.planner import adopt_partitions

START: Partitioned = {"t": (5, 6)}


def test_offsets_are_unchanged_if_no_partition_was_added() -> None:
    assert adopt_partitions(START, {"t": (0, 0)}, tasks=2) == START


def test_added_partitions_are_read_from_their_first_offset() -> None:
    assert adopt_partitions(START, {"t": (0, 0, 3, 0)}, tasks=2) == {"t": (5, 6, 3, 0)}


@pytest.mark.parametrize("earliest", [{}, {"t": (0,)}])
def test_removed_partitions_stop_the_job(earliest: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(TopicChanged, match=r"t: 2 partitions were read so far, the topic has [01] now"):
        adopt_partitions(START, earliest, tasks=2)


def test_a_number_that_does_not_fit_the_tasks_stops_the_job() -> None:
    with pytest.raises(TopicChanged, match="3 partitions can't be spread over 2 tasks"):
        adopt_partitions(START, {"t": (0, 0, 0)}, tasks=2)


def test_a_global_table_has_any_number() -> None:
    assert adopt_partitions({"t": (5,)}, {"t": (0, 2, 0)}, tasks=2, whole={"t"}) == {"t": (5, 2, 0)}


def test_an_added_topic_is_read_from_its_beginning() -> None:
    assert adopt_partitions(START, {"t": (0, 0), "u": (0, 3)}, tasks=2) == {"t": (5, 6), "u": (0, 3)}


def test_an_added_topic_that_does_not_fit_the_tasks_stops_the_job() -> None:
    with pytest.raises(TopicChanged, match="u: 3 partitions can't be spread over 2 tasks"):
        adopt_partitions(START, {"t": (0, 0), "u": (0, 3, 4)}, tasks=2)
