"""The rules that keep a task exact, each broken on purpose (ARCHITECTURE.md, Exactly once)."""

from __future__ import annotations

import itertools
import re

import pytest
from forebay.runtime.marker import Marker

from forebay.codec import Unavailable
from forebay.processor import Context
from forebay.runtime.errors import ReplayDiffers, StateConflict, TaskTooLarge
from forebay.runtime.task import DAY_MS, TaskSettings
from tests.runtime.task_harness import Bench, FakeState, Number, Sum, Total


def test_a_batch_is_committed_once_and_its_state_kept() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1), ("a", 20, 2), ("b", 30, 5))
    bench.run()
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("b", Total(5, 1))]
    bench.feed(("a", 40, 4))
    bench.run()
    assert bench.totals() == {"a": Total(7, 3), "b": Total(5, 1)}


def test_rule_2_and_3_a_batch_committed_before_the_state_was_lost_is_not_sent_again() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.feed(("a", 20, 2))
    batch = bench.plan()
    bench.attempt(batch)
    bench.worker()
    report = bench.run(batch)
    assert report.step == "suppress"
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]
    assert bench.totals() == {"a": Total(3, 2)}


def test_rule_2_and_3_the_first_batch_is_suppressed_too() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    batch = bench.plan()
    bench.attempt(batch)
    bench.worker()
    assert bench.run(batch).step == "suppress"
    assert len(bench.kafka.transactions) == 1


def test_rule_2_code_changed_in_mid_batch_stops_the_job() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    batch = bench.plan()
    bench.attempt(batch)

    class Doubling(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            super().process(Number(event.event_id, event.timestamp, 2 * event.amount), ctx)

    bench.processor, bench.code_version = Doubling, "v2"
    bench.worker()
    with pytest.raises(ReplayDiffers, match=r"sums-0-0: replay differs.*from version v1 to v2"):
        bench.attempt(batch)
    assert len(bench.kafka.transactions) == 1


def test_rule_2_a_processor_that_is_not_deterministic_is_found_on_replay() -> None:
    drawn = itertools.count()

    class Random(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            ctx.forward(Total(next(drawn), 0))

    bench = Bench(Random)
    bench.feed(("a", 10, 1))
    batch = bench.plan()
    bench.attempt(batch)
    bench.worker()
    with pytest.raises(ReplayDiffers, match="not deterministic"):
        bench.attempt(batch)


def test_rule_2_a_change_of_state_alone_is_found_on_replay() -> None:
    drawn = itertools.count()

    class Drifting(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            self.totals.put(ctx.key, Total(next(drawn), 0))

    bench = Bench(Drifting)
    bench.feed(("a", 10, 1))
    batch = bench.plan()
    bench.attempt(batch)
    bench.worker()
    with pytest.raises(ReplayDiffers):
        bench.attempt(batch)


def test_rule_3_a_deleted_checkpoint_against_an_existing_marker_stops_the_job() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.state, bench.job = FakeState(), "job-2"
    bench.worker()
    bench.feed(("a", 20, 1))
    with pytest.raises(StateConflict, match=r"marker belongs to checkpoint job-1, but checkpoint job-2"):
        bench.attempt(bench.plan())
    assert len(bench.kafka.transactions) == 1


def test_rule_3_state_without_its_marker_stops_the_job() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.kafka.committed = None
    bench.worker()
    bench.feed(("a", 20, 1))
    with pytest.raises(StateConflict, match="its marker is gone"):
        bench.attempt(bench.plan())


def test_rule_3_an_older_checkpoint_put_back_stops_the_job() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    older = dict(bench.state.committed)
    for timestamp in (20, 30):
        bench.feed(("a", timestamp, 1))
        bench.run()
    bench.state = FakeState(committed=older)
    bench.worker()
    bench.batch = 1
    bench.ends = {0: 1}
    with pytest.raises(StateConflict, match=r"state stands at batch 1, .* the marker at batch 3"):
        bench.attempt(bench.plan())


def test_rule_3_a_marker_of_the_same_number_with_another_tag_stops_the_job() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.kafka.committed = Marker("job-1", 1, 10, "00" * 16, "v1")
    bench.feed(("a", 20, 1))
    with pytest.raises(StateConflict, match=re.escape("0" * 32)):
        bench.attempt(bench.plan())


def test_rule_3_an_old_marker_is_committed_again_on_an_idle_tick() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.clock += DAY_MS - 1
    assert bench.run().step == "idle"
    bench.clock += 1
    assert bench.run().step == "produce"
    assert bench.kafka.committed is not None
    assert bench.kafka.committed.batch == 3
    bench.feed(("a", 20, 1))
    bench.run()
    assert bench.totals() == {"a": Total(2, 2)}


def test_rule_4_a_cache_dirtied_by_a_failed_attempt_is_not_believed() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.feed(("a", 20, 10), ("b", 30, 7))
    batch = bench.plan()
    bench.sink.fail_before_commit = True
    with pytest.raises(Unavailable):
        bench.attempt(batch)
    assert bench.sink.discarded == 1
    bench.run(batch)
    assert bench.kafka.outputs()[1:] == [("a", Total(11, 2)), ("b", Total(7, 1))]
    assert bench.totals() == {"a": Total(11, 2), "b": Total(7, 1)}


def test_rule_4_a_commit_whose_answer_was_lost_is_found_by_the_next_attempt() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    batch = bench.plan()
    bench.sink.fail_after_commit = True
    with pytest.raises(Unavailable):
        bench.attempt(batch)
    assert bench.run(batch).step == "suppress"
    assert bench.kafka.outputs() == [("a", Total(1, 1))]


def test_rule_4_a_batch_whose_state_commit_failed_is_computed_again_in_the_same_worker() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.feed(("a", 20, 2))
    batch = bench.plan()
    bench.attempt(batch)
    assert bench.run(batch).step == "suppress"
    bench.feed(("a", 30, 3))
    bench.run()
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("a", Total(6, 3))]


def test_rule_4_a_worker_that_missed_batches_reads_just_those() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    first, first_table, first_sink = bench.task, bench.table, bench.sink
    bench.worker()
    for timestamp in (20, 30):
        bench.feed(("a", timestamp, 1))
        bench.run()
    bench.task, bench.table, bench.sink = first, first_table, first_sink
    bench.state.reads = 0
    bench.feed(("a", 40, 1))
    bench.run()
    assert bench.state.reads == 2
    assert bench.totals() == {"a": Total(4, 4)}


def test_rule_5_a_processor_that_puts_forwards_and_raises_leaves_nothing_but_an_error() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1), ("a", 20, -5), ("a", 30, 2))
    bench.run()
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]
    (error,) = bench.kafka.transactions[0].result.errors
    headers = {name: (value or b"").decode() for name, value in error.headers}
    assert headers["error.class"] == "ValueError"
    assert headers["error.stage"] == "process"
    assert (headers["error.topic"], headers["error.partition"], headers["error.offset"]) == ("numbers", "0", "1")
    assert headers["origin"] == "test"
    assert bench.totals() == {"a": Total(3, 2)}


def test_rule_5_an_object_changed_without_a_put_can_not_exist() -> None:
    with pytest.raises(AttributeError):
        Total(1, 1).amount = 2  # type: ignore[misc]


def test_rule_5_a_value_that_can_not_be_encoded_costs_just_its_record() -> None:
    class Halving(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            super().process(event, ctx)
            if event.amount == 13:
                self.totals.put(ctx.key, Total(6.5, 0))  # type: ignore[arg-type]

    bench = Bench(Halving)
    bench.feed(("a", 10, 1), ("a", 20, 13), ("b", 30, 2))
    bench.run()
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("b", Total(2, 1))]
    assert len(bench.kafka.transactions[0].result.errors) == 1
    assert bench.totals() == {"a": Total(1, 1), "b": Total(2, 1)}


def test_rule_7_an_idle_tick_that_changes_nothing_writes_nothing() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    before = dict(bench.state.committed)
    assert bench.run(idle_ms=500).step == "idle"
    assert bench.state.committed == before
    assert len(bench.kafka.transactions) == 1


def test_rule_7_idle_time_fires_timers_once_and_the_closing_time_stays() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.run(idle_ms=1_000)
    assert bench.kafka.outputs()[-1] == ("a", Total(1, -1))
    assert bench.run(idle_ms=2_000).step == "idle"
    report = bench.run(idle_ms=3_000)
    assert (report.step, report.closing_time) == ("idle", 1_010)
    assert len(bench.kafka.outputs()) == 2


def test_rule_7_timers_due_by_a_record_fire_before_it_in_order() -> None:
    bench = Bench()
    bench.feed(("b", 20, 2), ("a", 10, 1), ("c", 2_000, 3))
    bench.run()
    assert bench.kafka.outputs() == [
        ("b", Total(2, 1)),
        ("a", Total(1, 1)),
        ("a", Total(1, -1)),
        ("b", Total(2, -1)),
        ("c", Total(3, 1)),
    ]


def test_rule_7_two_partitions_of_a_task_are_merged_by_event_time() -> None:
    bench = Bench()
    bench.ends = {0: 0, 2: 0}
    for partition, key, timestamp in ((0, "a", 10), (0, "a", 30), (2, "c", 20), (2, "c", 30)):
        bench.input.add(key, Number(f"{key}{timestamp}", timestamp, timestamp), partition)
    bench.run()
    assert [total.amount for _, total in bench.kafka.outputs()] == [10, 20, 40, 50]


def test_rule_12_a_task_that_outgrows_its_limit_stops_with_the_remedy() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    bench.task._settings = TaskSettings("sums-0-0", "v1", max_state_bytes=5)
    bench.feed(("a", 20, 1))
    with pytest.raises(TaskTooLarge, match="max_state_bytes"):
        bench.attempt(bench.plan())


def test_rule_12_event_ids_are_remembered_across_restarts_and_forgotten_after_the_retention() -> None:
    bench = Bench(dedupe_retention_ms=1_000)
    for key, timestamp in (("a", 10), ("a", 10)):
        bench.input.add(key, Number("same", timestamp, 1))
    bench.run()
    bench.worker()
    bench.input.add("a", Number("same", 500, 1))
    assert bench.run().duplicates == 1
    bench.input.add("a", Number("same", 1_200, 1))
    assert bench.run().duplicates == 0
    assert bench.totals()["a"] == Total(2, 2)
    assert sum(1 for _ in bench.table.scan(b"\x01dedupe\0", b"\x01dedupe\1")) <= 2
