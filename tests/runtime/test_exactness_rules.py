"""The rules that keep a task exact, each broken on purpose (ARCHITECTURE.md, Exactly once)."""

from __future__ import annotations

import itertools

import pytest

from forebay.codec import Unavailable
from forebay.processor import Context
from forebay.runtime.errors import GroupFenced, StateConflict, TaskTooLarge
from tests.runtime.group_bench import GroupBench
from tests.runtime.simulator.state import Store
from tests.runtime.task_records import Number, Sum, Total


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


def test_commits_happen_once_and_keep_their_state(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1), ("a", 20, 2), ("b", 30, 5))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("b", Total(5, 1))]
    bench.feed(("a", 40, 4))
    bench.run()
    assert bench.totals() == {"a": Total(7, 3), "b": Total(5, 1)}


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_commits_after_the_snapshot_are_replayed_and_not_sent_again(bench: GroupBench, has_snapshot: bool) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    if has_snapshot:
        bench.end_lease()
    bench.feed(("a", 20, 2))
    bench.run()
    bench.worker()
    bench.feed(("a", 30, 4))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("a", Total(7, 3))]
    assert [position.n for position in bench.positions()] == [1, 2, 3]


@pytest.mark.parametrize("point", ["commit.begin", "commit.produce", "commit.before"])
def test_uncommitted_records_are_processed_again_as_if_for_the_first_time(bench: GroupBench, point: str) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.feed(("a", 20, 10), ("b", 30, 7))
    with pytest.raises(Unavailable):
        bench.fail(point)
    bench.run()
    assert bench.outputs()[1:] == [("a", Total(11, 2)), ("b", Total(7, 1))]
    assert bench.totals() == {"a": Total(11, 2), "b": Total(7, 1)}


def test_a_commit_whose_answer_was_lost_is_found_when_the_group_is_opened_again(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    with pytest.raises(Unavailable):
        bench.fail("commit.after")
    assert bench.run() == 0
    assert bench.outputs() == [("a", Total(1, 1))]
    assert bench.totals() == {"a": Total(1, 1)}


def test_uncommitted_results_of_nondeterministic_logic_are_never_visible() -> None:
    drawn = itertools.count()

    class Random(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            self.totals.put(ctx.key, Total(next(drawn), 0))
            ctx.forward(self.totals.get(ctx.key))

    bench = GroupBench(Random)
    bench.feed(("a", 10, 1))
    with pytest.raises(Unavailable):
        bench.fail("commit.before")
    bench.run()
    assert bench.outputs() == [("a", Total(1, 0))]
    assert bench.totals() == {"a": Total(1, 0)}


def test_a_former_worker_commits_nothing_more(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    former = bench.group
    bench.worker()
    bench.feed(("a", 20, 2))
    bench.run()
    bench.feed(("a", 30, 4))
    with pytest.raises(GroupFenced):
        former.cycle(bench.lease, 1.0)
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("a", Total(7, 3))]


def test_an_older_checkpoint_is_completed_from_the_changelogs(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.end_lease()
    older = bench.store.copy()
    for timestamp in (20, 30):
        bench.feed(("a", timestamp, 1))
        bench.run()
        bench.end_lease()
    bench.store = older
    assert bench.totals() == {"a": Total(3, 3)}


def test_a_deleted_checkpoint_stops_the_job(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.store, bench.checkpoint = Store(), "c2"
    bench.worker()
    bench.feed(("a", 20, 1))
    with pytest.raises(StateConflict, match="belongs to checkpoint c1, but checkpoint c2 is running"):
        bench.run()
    assert len(bench.positions()) == 1


def test_changelogs_that_were_emptied_stop_the_job(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.end_lease()
    bench.worker()
    for topic in bench.logs.rows().topics:
        bench.broker.create(topic, 1)
    with pytest.raises(StateConflict, match="does not reach back to offset"):
        bench.run()


def test_a_processor_that_puts_forwards_and_raises_leaves_nothing_but_an_error(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1), ("a", 20, -5), ("a", 30, 2))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]
    (error,) = bench.errors()
    headers = {name: (value or b"").decode() for name, value in error.headers() or []}
    assert (headers["error.class"], headers["error.stage"]) == ("ValueError", "process")
    assert (headers["error.topic"], headers["error.partition"], headers["error.offset"]) == ("numbers", "0", "1")
    assert headers["origin"] == "test"
    assert bench.totals() == {"a": Total(3, 2)}


def test_a_value_that_can_not_be_encoded_costs_just_its_record() -> None:
    class Halving(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            super().process(event, ctx)
            if event.amount == 13:
                self.totals.put(ctx.key, Total(6.5, 0))  # type: ignore[arg-type]

    bench = GroupBench(Halving)
    bench.feed(("a", 10, 1), ("a", 20, 13), ("b", 30, 2))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("b", Total(2, 1))]
    assert len(bench.errors()) == 1
    assert bench.totals() == {"a": Total(1, 1), "b": Total(2, 1)}


def test_a_cycle_in_which_nothing_happens_commits_nothing(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    assert bench.run() == 1
    assert bench.run(idle_seconds=0.5) == 0


def test_idle_time_fires_timers_once_and_the_closing_time_stays(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run(idle_seconds=3)
    assert bench.outputs()[-1] == ("a", Total(1, -1))
    assert bench.positions()[-1].closing_time >= 1_010
    outputs, closing_time = len(bench.outputs()), bench.positions()[-1].closing_time
    assert bench.run(idle_seconds=5) == 0
    assert (len(bench.outputs()), bench.positions()[-1].closing_time) == (outputs, closing_time)


def test_idle_time_does_not_pass_while_a_foreign_transaction_is_open(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    coordinator, place = bench.broker.coordinator, ("numbers", 0)
    epoch = coordinator.init("foreign")
    coordinator.add_partition("foreign", epoch, place)
    transaction = coordinator.verify("foreign", epoch, place)
    bench.broker.append(("numbers", 0), b"a", b"[]", 20, None, transaction)
    assert bench.run(idle_seconds=10) == 0
    assert bench.outputs() == [("a", Total(1, 1))]


def test_idle_time_does_not_pass_while_records_are_unread(bench: GroupBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.feed(("a", 20, 2))

    def read_nothing(seconds: float, most: int) -> int:
        bench.wait(seconds)
        return 0

    with monkeypatch.context() as frozen:
        # The process was frozen, and its client has not fetched yet what arrived in the meantime.
        frozen.setattr(bench.group._reader, "read", read_nothing)
        bench.wait(10)
        assert not bench.group.cycle(bench.lease, 0.1)
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]


def test_timers_due_by_a_record_fire_before_it_in_order(bench: GroupBench) -> None:
    bench.feed(("b", 20, 2), ("a", 10, 1), ("c", 2_000, 3))
    bench.run()
    assert bench.outputs() == [
        ("b", Total(2, 1)),
        ("a", Total(1, 1)),
        ("a", Total(1, -1)),
        ("b", Total(2, -1)),
        ("c", Total(3, 1)),
    ]


def test_two_partitions_of_a_task_are_merged_by_event_time() -> None:
    bench = GroupBench(partitions=2)
    for partition, key, timestamp in ((0, "a", 10), (0, "a", 30), (1, "c", 20), (1, "c", 30)):
        bench.add(key, Number(f"{key}{timestamp}", timestamp, timestamp), partition)
    bench.run()
    assert [total.amount for _, total in bench.outputs()] == [10, 20, 40, 50]


def test_a_task_that_outgrows_its_limit_stops_with_the_remedy(bench: GroupBench) -> None:
    bench.feed(("a", 10, 1))
    bench.run()
    bench.limit(max_state_bytes=5)
    bench.feed(("a", 20, 1))
    with pytest.raises(TaskTooLarge, match="max_state_bytes"):
        bench.run()


def test_rows_event_ids_and_timers_are_counted_by_their_memory_usage(bench: GroupBench) -> None:
    for number in range(50):
        bench.add("a", Number(f"e-{number}", 10, 1))
    bench.run()
    bench.limit(max_state_bytes=2 * sum(len(key) + len(row) for key, row in bench.rows().items()))
    bench.feed(("a", 30, 1))
    with pytest.raises(TaskTooLarge, match=r"the task's state takes \d+ bytes"):
        bench.run()


def test_event_ids_are_remembered_across_restarts_and_forgotten_after_the_retention() -> None:
    bench = GroupBench(dedupe_retention_ms=1_000)
    for key, timestamp in (("a", 10), ("a", 10)):
        bench.add(key, Number("same", timestamp, 1))
    bench.run()
    bench.worker()
    bench.add("a", Number("same", 500, 1))
    bench.run()
    assert bench.task.figures.duplicates == 1
    bench.add("a", Number("same", 1_200, 1))
    bench.run()
    assert bench.task.figures.duplicates == 1
    assert bench.totals()["a"] == Total(2, 2)
    assert sum(1 for _ in bench.table.scan(b"\x01dedupe\0", b"\x01dedupe\1")) <= 2
