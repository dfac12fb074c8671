"""What is left of a batch that lacked memory: committed tasks keep their part, the others read half."""

from __future__ import annotations

from forebay.runtime.offsets import SourceOffset
from forebay.runtime.split import shortened, size_failure


def offset(batch: int, *ends: int, tasks: int = 4) -> SourceOffset:
    return SourceOffset("j", batch, 7, tasks, True, (0,) * tasks, {"t": "id"}, {"t": ends}, 1)


def test_committed_tasks_keep_their_ranges_and_the_others_halve_theirs() -> None:
    begin, end = offset(4, 10, 10, 10, 10), offset(5, 20, 20, 10, 13)
    found = shortened(begin, end, {0})
    assert found is not None
    assert found.ends == {"t": (20, 15, 10, 12)}
    assert (found.batch, found.clock, found.idle_ms, found.caught_up) == (5, 7, (0, 0, 0, 0), False)


def test_a_batch_of_single_records_can_t_be_shortened() -> None:
    assert shortened(offset(4, 0, 0, 0, 0), offset(5, 9, 1, 0, 1), {0}) is None


def test_tasks_of_several_partitions_are_left_as_they_are() -> None:
    assert shortened(offset(4, 0, 0, 0, 0, tasks=2), offset(5, 9, 8, 8, 8, tasks=2), {0}) is None


def test_a_worker_that_was_killed_may_have_lacked_memory() -> None:
    assert size_failure("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)")
    assert size_failure('File "x", line 1\nMemoryError')
    assert size_failure("forebay.runtime.errors.TransactionTooLong: 9 records still wait")
    assert not size_failure("forebay.codec.Unavailable: broker gone")
