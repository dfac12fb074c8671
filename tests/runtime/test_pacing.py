"""A commit is due soon if the task has caught up, later if it has a backlog, and at once if it is full."""

from __future__ import annotations

import itertools

import pytest

from forebay.runtime.task.pacing import BACKLOG_SECONDS, READ_AHEAD, Limits, Pacing


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pacing(clock: Clock) -> Pacing:
    limits = Limits(max_records=5_000, max_bytes=1_000, commit_interval_ms=200, shortest_interval_ms=200)
    pacing = Pacing(limits, clock, read_ahead=0)
    clock.now += 0.2
    _is_due_with(3, pacing)
    pacing.on_commit()
    pacing.begin(0)
    return pacing


def _is_due_with(records: int, pacing: Pacing) -> None:
    pacing.took(records, 10)
    assert pacing.is_due(records)
    pacing.on_due()


def test_no_commit_is_due_without_records(pacing: Pacing, clock: Clock) -> None:
    clock.now += 1_000
    assert pacing.is_empty
    assert not pacing.is_due(0)
    assert pacing.wait() > 600


def test_the_first_records_after_a_pause_are_due_at_once(pacing: Pacing, clock: Clock) -> None:
    clock.now += 0.2
    pacing.took(3, 10)
    assert pacing.wait() == 0
    assert pacing.is_due(3)


def test_later_records_wait_for_the_commit_interval(pacing: Pacing, clock: Clock) -> None:
    clock.now += 0.05
    pacing.took(3, 10)
    assert not pacing.is_due(3)
    assert pacing.wait() == pytest.approx(0.15)
    clock.now += 0.15
    assert pacing.is_due(0)


def test_the_interval_counts_from_when_the_last_commit_was_due(pacing: Pacing, clock: Clock) -> None:
    """The interval includes the time of the last poll, of the logic and of the commit."""
    clock.now += 0.2
    _is_due_with(3, pacing)
    clock.now += 0.03
    pacing.on_commit()
    pacing.took(3, 10)
    assert pacing.wait() == pytest.approx(0.17)


def test_commits_to_a_slow_broker_are_at_least_half_an_interval_apart(pacing: Pacing, clock: Clock) -> None:
    clock.now += 0.2
    _is_due_with(3, pacing)
    clock.now += 0.5
    pacing.on_commit()
    pacing.took(3, 10)
    assert pacing.wait() == pytest.approx(0.1)


def interval_after(pacing: Pacing, clock: Clock, costs: list[float]) -> float:
    """Return the interval in seconds after commits that took `costs` seconds."""
    for cost in costs:
        clock.now += 1.0
        _is_due_with(3, pacing)
        clock.now += cost
        pacing.on_commit()
        pacing.begin(0)
    pacing.took(3, 10)
    return pacing.wait() + costs[-1]


@pytest.mark.parametrize(
    ("cost", "interval"), [(0.001, 0.025), (0.01, 0.025), (0.02, 0.04), (0.04, 0.08), (0.06, 0.11)]
)
def test_the_interval_adapts_to_the_duration_of_commits(clock: Clock, cost: float, interval: float) -> None:
    """The interval is short while commits are cheap and longer under load. The broker gets at least half of it."""
    assert interval_after(Pacing(Limits(), clock), clock, [cost] * 100) == pytest.approx(interval, abs=1e-4)


def test_one_slow_commit_changes_the_interval_little(clock: Clock) -> None:
    assert interval_after(Pacing(Limits(), clock), clock, [0.015] * 100 + [0.06, 0.015]) < 0.045


def test_a_commit_that_was_never_due_does_not_affect_the_interval(clock: Clock) -> None:
    """Such a commit only announces times after seconds without records."""
    pacing = Pacing(Limits(), clock)
    interval_after(pacing, clock, [0.005] * 100)
    for _ in range(100):
        pacing.begin(0)
        clock.now += 3.0
        pacing.on_commit(is_empty=True)
    assert interval_after(pacing, clock, [0.005]) == pytest.approx(0.025)


def test_after_an_outage_the_interval_is_soon_short_again(clock: Clock) -> None:
    pacing = Pacing(Limits(), clock)
    interval_after(pacing, clock, [0.005] * 100 + [600.0])
    assert interval_after(pacing, clock, [0.005] * 10) == pytest.approx(0.025)


def test_a_commit_that_failed_before_an_outage_does_not_count(clock: Clock) -> None:
    pacing = Pacing(Limits(), clock)
    interval_after(pacing, clock, [0.005] * 100)
    clock.now += 1.0
    _is_due_with(3, pacing)
    clock.now += 600.0
    pacing.start()
    pacing.on_commit()
    pacing.begin(0)
    assert interval_after(pacing, clock, [0.005]) == pytest.approx(0.025)


def test_a_fixed_interval_is_not_adapted(clock: Clock) -> None:
    pacing = Pacing(Limits(commit_interval_ms=70, shortest_interval_ms=70), clock)
    assert interval_after(pacing, clock, [0.001] * 100) == pytest.approx(0.07)


def test_a_backlog_is_collected_for_a_while_as_long_as_reads_are_full(pacing: Pacing, clock: Clock) -> None:
    clock.now += 0.3
    pacing.took(1_000, 10)
    assert not pacing.is_due(1_000)
    clock.now += BACKLOG_SECONDS
    assert pacing.is_spent
    assert pacing.is_due(1_000)


def test_a_groups_first_commit_gathers_a_backlog_for_an_interval_only(pacing: Pacing, clock: Clock) -> None:
    pacing.start()
    pacing.begin(0)
    clock.now += 0.1
    pacing.took(1_000, 10)
    assert not pacing.is_due(1_000)
    clock.now += 0.15
    assert pacing.is_due(1_000)
    assert not pacing.is_spent
    pacing.on_commit()
    pacing.begin(0)
    clock.now += 0.3
    pacing.took(1_000, 10)
    assert not pacing.is_due(1_000)


@pytest.mark.parametrize(("records", "size"), [(5_000, 0), (1, 1_000)])
def test_a_full_commit_is_due(pacing: Pacing, records: int, size: int) -> None:
    pacing.took(records, size)
    assert pacing.is_full
    assert pacing.is_due(records)


def test_commits_have_no_byte_limit_by_default(clock: Clock) -> None:
    pacing = Pacing(Limits(), clock)
    pacing.took(1, 1 << 40)
    assert not pacing.is_full


def test_earlier_waiting_records_count_as_present(pacing: Pacing) -> None:
    pacing.begin(7)
    assert not pacing.is_empty


def test_a_read_is_limited_to_the_rest_of_a_commit_but_never_below_one_record(pacing: Pacing) -> None:
    pacing.took(4_990, 0)
    assert pacing.room == 10
    pacing.took(100, 0)
    assert pacing.room == 1


def test_if_commits_are_small_records_are_read_ahead(clock: Clock) -> None:
    pacing = Pacing(Limits(max_records=100), clock)
    pacing.begin(4_000)
    assert pacing.room == READ_AHEAD - 4_000
    pacing.took(500, 100_000)
    assert pacing.room == READ_AHEAD - 4_500
    pacing.begin(READ_AHEAD)
    assert pacing.room == 100, "what is queued may all have to wait for what is not"


def test_few_large_records_are_read_ahead(clock: Clock) -> None:
    pacing = Pacing(Limits(max_records=2), clock)
    pacing.took(1, 1 << 20)
    pacing.begin(1)
    assert pacing.room == 7
    pacing.took(1, 1 << 26)
    assert pacing.room == 1


def test_records_left_by_the_last_commit_are_due_at_once(pacing: Pacing) -> None:
    pacing.begin(7_000, left_records=True)
    assert pacing.wait() == 0
    assert pacing.is_due(0)
    pacing.begin(0, left_records=True)
    assert not pacing.is_due(0), "it was given up, and nothing is there"


def commit_times(pacing: Pacing, times: int) -> None:
    for _ in range(times):
        pacing.on_commit()
        pacing.begin(0)


def test_after_a_commit_that_was_too_large_the_next_is_half_as_large(pacing: Pacing) -> None:
    assert pacing.halve() == 2_500
    pacing.on_commit()
    pacing.begin(0)
    assert pacing.most == 2_500
    for _ in range(20):
        pacing.halve()
    assert pacing.most == 1


def test_failures_in_a_row_reach_a_single_record_soon(pacing: Pacing) -> None:
    """Each failure costs a restore."""
    assert [pacing.halve() for _ in range(4)] == [2_500, 625, 39, 1]


def test_commits_grow_again_to_their_limits_after_success(pacing: Pacing) -> None:
    for _ in range(20):
        pacing.halve()
    sizes = []
    for _ in range(100):
        commit_times(pacing, 1)
        sizes.append(pacing.most)
    assert sizes == sorted(sizes)
    assert max(after / before for before, after in itertools.pairwise(sizes)) < 2.5
    assert pacing.most == 5_000
    pacing.took(1, 999)
    assert not pacing.is_full
    pacing.took(1, 1)
    assert pacing.is_full


def test_if_larger_commits_fail_at_once_they_are_tried_less_often(pacing: Pacing) -> None:
    needed = []
    for _ in range(10):
        pacing.halve()
        count = 0
        while pacing.most < 5_000:
            commit_times(pacing, 1)
            count += 1
        needed.append(count)
    assert needed[:5] == [4, 8, 16, 32, 64]
    assert needed[-1] == 256
    commit_times(pacing, 300)
    pacing.halve()
    commit_times(pacing, 4)
    assert pacing.most == 5_000, "what was large for long counts as one that fits"
