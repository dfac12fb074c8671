"""What a batch reads: limits, ticks, idle time, partitions (pure: the broker's answers are given)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.runtime.buckets import bucket_ids, spark_hash
from forebay.runtime.errors import TopicChanged
from forebay.runtime.offsets import SENTINEL, SourceOffset, task_batches
from forebay.runtime.planner import Ends, Limits, Partition, Probe, admit, average_bytes, next_offset


class Log:
    """Partitions as lists of timestamps."""

    def __init__(self, *partitions: list[int], record_bytes: int = 100, later_bytes: int = 100) -> None:
        self.partitions, self.record_bytes, self.later_bytes = partitions, record_bytes, later_bytes

    @property
    def ends(self) -> Ends:
        return {"t": tuple(map(len, self.partitions))}

    def probe(self) -> Probe:
        def timestamps(at: Mapping[Partition, int]) -> dict[Partition, int]:
            return {p: self.partitions[p[1]][o] for p, o in at.items() if o < len(self.partitions[p[1]])}

        def offsets_for(times: Mapping[Partition, int]) -> dict[Partition, int]:
            return {
                p: next((i for i, ts in enumerate(self.partitions[p[1]]) if ts >= at), len(self.partitions[p[1]]))
                for p, at in times.items()
            }

        def sizes(at: Mapping[Partition, int]) -> dict[Partition, float]:
            return {p: float(self.later_bytes if o else self.record_bytes) for p, o in at.items()}

        return Probe(timestamps, offsets_for, lambda at, backlog: average_bytes(at, backlog, sizes))


def offset(ends: tuple[int, ...], tasks: int = 2, clock: int = 1_000, caught_up: bool = True) -> SourceOffset:
    return SourceOffset("j", 5, clock, tasks, caught_up, (0,) * tasks, {"t": "id"}, {"t": ends}, tasks)


def test_everything_that_waits_is_taken_within_the_limit() -> None:
    log = Log([1, 2, 3], [4])
    assert admit({"t": (0, 0)}, log.ends, Limits(max_records=10), log.probe()) == {"t": (3, 1)}


def test_rule_6_a_sparse_partition_ends_where_the_dense_one_is_cut() -> None:
    dense, sparse = list(range(10_000)), [0, 500, 5_000, 9_999]
    log = Log(dense, sparse)
    ends = admit({"t": (0, 0)}, log.ends, Limits(max_records=1_000), log.probe())
    assert ends["t"][0] in range(900, 1_001)
    assert [ts for ts in sparse[: ends["t"][1]] if ts >= dense[ends["t"][0]]] == []


def test_rule_6_no_record_read_later_is_older_than_what_was_read_by_more_than_its_own_disorder() -> None:
    log = Log(list(range(5_000)), [i * 1_000 for i in range(5)], [i * 10 for i in range(500)])
    at: Ends = {"t": (0, 0, 0)}
    stream_time = -1
    while at != log.ends:
        end = admit(at, log.ends, Limits(max_records=200), log.probe())
        assert end != at
        batch = [ts for p in range(3) for ts in log.partitions[p][at["t"][p] : end["t"][p]]]
        assert min(batch) >= stream_time
        stream_time, at = max(batch), end


@given(
    partitions=st.lists(st.lists(st.integers(0, 50), max_size=30), min_size=1, max_size=4),
    budget=st.integers(1, 20),
)
def test_every_batch_makes_progress_and_everything_is_read_once(partitions: list[list[int]], budget: int) -> None:
    log = Log(*partitions)
    at: Ends = {"t": (0,) * len(partitions)}
    for _ in range(500):
        if at == log.ends:
            return
        end = admit(at, log.ends, Limits(max_records=budget), log.probe())
        assert all(a <= e <= last for a, e, last in zip(at["t"], end["t"], log.ends["t"], strict=True))
        assert sum(end["t"]) > sum(at["t"])
        assert sum(end["t"]) - sum(at["t"]) <= 1.1 * budget + len(partitions)
        at = end
    pytest.fail("never caught up")


def with_a_gap(seed: int) -> list[list[int]]:
    """Two loads of 800 s with a gap of 400 s between them, over partitions of unequal shares; some records repeated."""
    rng = random.Random(seed)
    partitions: list[list[int]] = [[] for _ in range(8)]
    for load in (0, 1_200_000):
        for position in range(8_000):
            partition = rng.choices(range(8), range(2, 10))[0]
            late = rng.randrange(30_000) if rng.random() < 0.1 else 0
            partitions[partition].append(max(0, load + position * 100 - late))
            if rng.random() < 0.05:
                partitions[partition].append(rng.choice(partitions[partition][-40:]))
    return partitions


@pytest.mark.parametrize("seed", range(12))
def test_rule_6_a_late_record_at_a_cut_lets_nobody_leap_over_a_gap(seed: int) -> None:
    log = Log(*with_a_gap(seed))
    before_gap = [next(i for i, ts in enumerate(times) if ts >= 1_000_000) for times in log.partitions]
    for budget in range(500, 1_000, 50):
        at: Ends = {"t": (0,) * 8}
        while at != log.ends:
            at = admit(at, log.ends, Limits(max_records=budget), log.probe())
            left = [max(0, end - read) for end, read in zip(before_gap, at["t"], strict=True)]
            leapt = [read > end for end, read in zip(before_gap, at["t"], strict=True)]
            assert not (any(leapt) and any(left)), f"budget {budget}, {at}: {sum(left)} records will be late"


def test_a_byte_limit_counts_records_of_average_size() -> None:
    log = Log(list(range(100)), record_bytes=1_000, later_bytes=1_000)
    assert admit({"t": (0,)}, log.ends, Limits(max_records=1_000, max_bytes=20_000), log.probe()) == {"t": (20,)}


def test_the_offset_stays_the_same_object_until_an_end_moves_or_a_tick_is_due() -> None:
    log, start = Log([1, 2], [3]), offset((2, 1))
    assert next_offset(start, log.ends, 1_999, Limits(tick_ms=1_000), log.probe()) is start
    tick = next_offset(start, log.ends, 2_000, Limits(tick_ms=1_000), log.probe())
    assert (tick.batch, tick.clock, tick.idle_ms, tick.ends) == (6, 2_000, (1_000, 1_000), start.ends)


def test_rule_1_the_clock_never_goes_back() -> None:
    log = Log([1, 2], [3])
    end = next_offset(offset((0, 0), clock=5_000), log.ends, 10, Limits(), log.probe())
    assert (end.batch, end.clock) == (6, 5_000)


def test_rule_7_a_night_of_downtime_does_not_count_as_idle_while_a_backlog_waits() -> None:
    log = Log(list(range(1_000)), [])
    night = 8 * 3_600_000
    first = next_offset(offset((0, 0), caught_up=True), log.ends, 1_000 + night, Limits(max_records=100), log.probe())
    assert first.caught_up is False
    assert first.idle_ms == (0, 0)


def test_rule_7_a_task_without_records_is_idle_only_between_caught_up_batches() -> None:
    log = Log([1, 2], [])
    first = next_offset(offset((0, 0), caught_up=True), log.ends, 3_000, Limits(), log.probe())
    assert first.idle_ms == (0, 2_000)
    behind = next_offset(offset((0, 0), caught_up=False), log.ends, 3_000, Limits(), log.probe())
    assert behind.idle_ms == (0, 0)


def test_without_ticks_no_task_is_ever_idle_even_beside_one_that_gets_records() -> None:
    log = Log([1, 2], [])
    start = dataclasses.replace(offset((0, 0), caught_up=True), idle_ms=(0, 700))
    assert next_offset(start, log.ends, 3_000, Limits(tick_ms=0), log.probe()).idle_ms == (0, 0)


def test_a_batch_that_is_wanted_though_nothing_came_is_planned_once() -> None:
    log, start = Log([1, 2], [3]), offset((2, 1), caught_up=True)
    wanted = Limits(tick_ms=0, even_empty=True)
    planned = next_offset(start, log.ends, 1_700, wanted, log.probe())
    assert (planned.batch, planned.ends, planned.idle_ms) == (6, start.ends, (0, 0))
    assert next_offset(planned, log.ends, 1_700, wanted, log.probe()) is planned


def test_partitions_belong_to_tasks_by_remainder() -> None:
    batches = task_batches(offset((0, 0, 0, 0)), offset((1, 2, 3, 4)))
    assert [[(r.partition, r.start, r.end) for r in b.ranges] for b in batches] == [
        [(0, 0, 1), (2, 0, 3)],
        [(1, 0, 2), (3, 0, 4)],
    ]


def test_the_first_batch_reads_nothing_but_fixes_where_reading_begins() -> None:
    assert all(batch.is_idle for batch in task_batches(None, offset((7, 9))))


def test_more_partitions_are_adopted_while_they_are_a_multiple_of_the_tasks() -> None:
    log = Log([1], [2], [3], [4])
    end = next_offset(offset((1, 1)), log.ends, 1_000, Limits(), log.probe())
    assert end.ends == {"t": (1, 1, 1, 1)}
    assert [(r.partition, r.start, r.end) for r in task_batches(offset((1, 1)), end)[0].ranges] == [
        (0, 1, 1),
        (2, 0, 1),
    ]


@pytest.mark.parametrize(("found", "told"), [(3, "can't be spread over 2 tasks"), (1, "deleted or recreated")])
def test_partitions_that_do_not_fit_the_tasks_stop_the_job(found: int, told: str) -> None:
    log = Log(*([[]] * found))
    with pytest.raises(TopicChanged, match=told):
        next_offset(offset((0, 0)), log.ends, 1_000, Limits(), log.probe())


def test_an_offset_survives_the_checkpoint_word_for_word() -> None:
    there = offset((1, 2)).to_json()
    back = SourceOffset.from_json(there)
    assert back is not None
    assert back.to_json() == there
    assert list(back.to_json()) == list(there)
    assert SourceOffset.from_json(SENTINEL) is None


def test_grouping_keys_hash_as_spark_does() -> None:
    assert [spark_hash(value) for value in (0, 1)] == [933_211_791, -559_580_957]


@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 8, 16])
def test_every_task_has_a_grouping_key_of_its_own_in_its_partition(tasks: int, partitions: int) -> None:
    buckets = bucket_ids(tasks, partitions)
    assert len(set(buckets)) == tasks
    assert [spark_hash(bucket) % partitions for bucket in buckets] == [task % partitions for task in range(tasks)]


def test_large_records_behind_small_ones_make_the_batch_smaller() -> None:
    log = Log(list(range(1_000)), record_bytes=10, later_bytes=1_000)
    limits = Limits(max_records=1_000, max_bytes=20_000)
    assert admit({"t": (0,)}, log.ends, limits, log.probe()) == {"t": (20,)}


def test_records_too_few_to_be_too_much_are_not_sampled() -> None:
    log = Log(list(range(9)))
    limits = Limits(max_records=1_000, max_bytes=10 << 20)
    probe = dataclasses.replace(log.probe(), average_bytes=lambda *_: pytest.fail("the records were sampled"))
    assert admit({"t": (0,)}, log.ends, limits, probe) == log.ends
