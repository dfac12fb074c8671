"""A task group runs with a real broker, without Spark: ownership, completion of a snapshot, purging."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import INPUT, Bench
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from loop_worker import LoopWorker, Snapshots
from replays import check
from service_bench import PARTITIONS, ServiceBench
from topic_reading import read_topic

from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of
from forebay.platform import Platform
from forebay.processor import Context
from forebay.producing.base import FIXED_START_MS, Options
from forebay.runtime.errors import GroupFenced, OffsetsLost, StateConflict
from forebay.runtime.task import turns
from forebay.runtime.task.pacing import Limits
from forebay.runtime.worker import send_queue, transaction
from user_sessions.logic import UserSessions
from user_sessions.model import UserActivity, UserSessionStats

OTHER = {"checkpoint": "checkpoint-2"}


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "group", tmp_path)
    yield bench
    bench.close()


def feed(bench: ServiceBench, seed: int, count: int = 1_000) -> None:
    start_ms = FIXED_START_MS + seed * 300_000
    bench.produce(
        Options(count=count, keys=50, seed=seed, duplicates=0.05, malformed=0.02, start_ms=start_ms, event_rate=20)
    )


def test_successive_workers_complete_snapshots_from_changelogs(bench: Bench) -> None:
    snapshots = Snapshots()
    for seed in range(1, 5):
        feed(bench, seed)
        worker = LoopWorker(bench, snapshots).open()
        assert (worker.read_back() > 0) == (seed in (2, 4)), "a tail holds what was committed after the snapshot"
        worker.read_everything()
        if seed % 2 == 0:
            worker.snapshot()
    bench.check()


def test_only_the_latest_worker_of_a_group_commits(bench: Bench) -> None:
    feed(bench, 1)
    zombie = LoopWorker(bench).open()
    zombie.until(zombie.cycle)
    successor = LoopWorker(bench).open()
    with pytest.raises(Unavailable, match="another worker commits for this group now"):
        zombie.until(lambda: False)
    zombie.group.abandon()
    assert not zombie.group.is_open
    successor.read_everything()
    bench.check()


POINTS: dict[str, tuple[object, str]] = {
    "before a record is sent": (transaction, "send"),
    "before the offsets are sent": (transaction.GroupProducer, "_mark"),
    "before the records are through": (send_queue.SendQueue, "drain"),
}


@pytest.mark.parametrize("point", POINTS)
def test_fenced_worker_stops_at_any_point_of_its_transaction(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """Every fatal error of a producer is treated as fencing, whichever call reports it."""
    feed(bench, 1)
    zombie = LoopWorker(bench).open()
    zombie.until(zombie.cycle)
    where, name = POINTS[point]
    original = getattr(where, name)
    successors: list[LoopWorker] = []

    def fence(*arguments: Any) -> Any:
        if not successors:
            successors.append(LoopWorker(bench))
            successors[0].open()
        result = original(*arguments)
        producer: Any = zombie.group._producer
        producer._producer.flush(10)
        return result

    monkeypatch.setattr(where, name, fence)
    feed(bench, 2)
    with pytest.raises(GroupFenced):
        zombie.until(lambda: False)
    zombie.group.abandon()
    monkeypatch.undo()
    successors[0].read_everything()
    bench.check()


def test_workers_that_take_over_a_group_from_each_other_are_exact(bench: Bench) -> None:
    workers = LoopWorker(bench), LoopWorker(bench)
    for seed in range(6):
        feed(bench, seed, 300)
        taking, losing = workers[seed % 2], workers[1 - seed % 2]
        taking.open()
        taking.until(taking.cycle)
        if seed:
            with pytest.raises(Unavailable):
                losing.read_everything()
            losing.group.abandon()
    LoopWorker(bench).open().read_everything()
    bench.check()


def test_committed_offsets_show_no_lag_during_the_lease(bench: Bench) -> None:
    worker = LoopWorker(bench).open()
    for seed in (1, 2):
        feed(bench, seed)
        worker.until(bench.has_read_everything)
        assert all(task.input.is_caught_up for task in worker.group.tasks)


def test_different_checkpoint_is_refused_without_fencing_a_worker(bench: Bench) -> None:
    feed(bench, 1)
    living = LoopWorker(bench).open()
    living.until(living.cycle)
    stranger = LoopWorker(bench, lease=OTHER)
    with pytest.raises(
        StateConflict,
        match="belongs to checkpoint checkpoint-1, but checkpoint checkpoint-2 is",
    ):
        stranger.open()
    assert not stranger.group.is_open
    living.read_everything()
    bench.check()


def test_another_checkpoint_takes_over_the_state_with_restore(bench: Bench) -> None:
    feed(bench, 1)
    before = LoopWorker(bench).open()
    before.read_everything()
    feed(bench, 2)
    taking = LoopWorker(bench, lease={**OTHER, "restore": True}).open()
    taking.read_everything()
    assert taking.group.is_taken_over(taking.lease)
    with pytest.raises(StateConflict, match="belongs to checkpoint checkpoint-2"):
        LoopWorker(bench, before.snapshots).open()
    bench.check()


def test_snapshot_older_than_delete_retention_is_rebuilt_from_the_beginning(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    feed(bench, 1)
    first = LoopWorker(bench).open()
    first.read_everything()
    first.snapshot()
    feed(bench, 2)
    first.read_everything()
    again = LoopWorker(bench, first.snapshots, tombstone_ms=0).open()
    assert (
        "the snapshot is too old, so deletes may be gone from the changelogs: reading them from the beginning"
    ) in caplog.text
    assert again.read_back() >= sum(len(task.table) for task in again.group.tasks)
    feed(bench, 3)
    again.read_everything()
    bench.check()


def test_a_snapshot_newer_than_the_changelogs_is_refused(bench: Bench) -> None:
    feed(bench, 1)
    worker = LoopWorker(bench).open()
    worker.read_everything()
    worker.snapshot()
    admin = TopicAdmin(bench.settings)
    changelogs = bench.service.own_topics("group", PARTITIONS)
    admin.delete(topic.name for topic in changelogs)
    admin.create(spec_of(topic) for topic in changelogs)
    with pytest.raises(StateConflict, match="does not reach back to offset"):
        LoopWorker(bench, worker.snapshots).open()


def test_job_continues_after_loss_of_the_marker_group(bench: Bench) -> None:
    feed(bench, 1)
    LoopWorker(bench).open().read_everything()
    admin = AdminClient(bench.settings.admin())
    admin.delete_consumer_groups(["group-marker"])["group-marker"].result(20)
    feed(bench, 2)
    LoopWorker(bench).open().read_everything()
    bench.check()


def test_offsets_committed_by_another_program_stop_the_job(bench: Bench) -> None:
    stranger = Consumer(bench.settings.consumer(**{"group.id": "group-marker"}))
    stranger.commit(offsets=[TopicPartition(INPUT, 1, 4)], asynchronous=False)
    stranger.close()
    with pytest.raises(StateConflict, match="no other program may commit offsets to that group"):
        LoopWorker(bench).open()


def test_lost_input_stops_the_job_without_a_commit(bench: Bench) -> None:
    feed(bench, 1)
    admin = AdminClient(bench.settings.admin())
    for future in admin.delete_records([TopicPartition(INPUT, 0, 2)]).values():
        future.result(20)
    worker = LoopWorker(bench).open()
    with pytest.raises(OffsetsLost, match=f"{INPUT}-0: offset 0 is wanted, but the topic holds 2 to"):
        worker.read_everything()
    assert bench.outputs()[0] == []


def test_only_a_record_that_runs_out_of_memory_goes_to_errors(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    process, poison = UserSessions.process, b"poison-key"

    def hungry(self: UserSessions, event: UserActivity, ctx: Context[UserSessionStats]) -> None:
        process(self, event, ctx)
        if ctx.key == poison.decode():
            raise MemoryError

    monkeypatch.setattr(UserSessions, "process", hungry)
    feed(bench, 1, 200)
    good = next(message.value() for messages in read_topic(bench.settings, INPUT).values() for message in messages)
    bench.send((poison, good, {}))
    feed(bench, 2, 200)
    worker, failures = LoopWorker(bench).open(), 0
    while not bench.has_read_everything():
        try:
            worker.read_everything()
        except MemoryError:
            failures += 1
            worker.group.abandon()
            worker.open()
    assert failures <= 1, "the records before it are committed first, then it is committed alone"
    reports = [dict(message.headers() or []) for message in bench.errors() if message.key() == poison]
    assert [report["error.class"] for report in reports] == [b"MemoryError"]
    assert poison.decode() not in {key for outputs in bench.outputs().values() for key, _, _ in outputs}
    assert sum(map(len, bench.outputs().values())) > 300


def test_slow_processing_is_split_into_several_commits_without_loss(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = UserSessions.process

    def slow(self: UserSessions, event: UserActivity, ctx: Context[UserSessionStats]) -> None:
        time.sleep(0.003)
        process(self, event, ctx)

    monkeypatch.setattr(UserSessions, "process", slow)
    monkeypatch.setattr(turns, "PROCESSING_SECONDS", 0.2)
    feed(bench, 1)
    worker = LoopWorker(bench, limits=Limits(max_records=50_000)).open()
    worker.read_everything()
    assert max(task.position.n for task in worker.group.tasks) > 5
    bench.check()


@pytest.mark.timeout(300)
def test_processed_records_are_deleted_from_the_repartition_topic(platform: Platform, tmp_path: Path) -> None:
    bench = ServiceBench(platform, "order-stores", "purging", tmp_path)
    (first, *_) = bench.service.repartitions("purging", PARTITIONS)
    consumer = Consumer(bench.settings.consumer())
    feed(bench, 1)
    worker = LoopWorker(bench).open()
    worker.read_everything()
    worker.snapshot()
    marks = [consumer.get_watermark_offsets(TopicPartition(first.name, number), 20) for number in range(PARTITIONS)]
    assert all(high > 20 for _, high in marks)
    assert all(high - low <= high // 2 for low, high in marks), f"used records still exist: {marks}"

    feed(bench, 2)
    again = LoopWorker(bench, worker.snapshots).open()
    again.read_everything()
    consumer.close()
    check("order-stores", bench, 10)
    bench.close()


@pytest.mark.parametrize("end", ["kill", "stop"])
@pytest.mark.timeout(300)
def test_a_worker_resumes_after_a_broker_outage(bench: Bench, platform: Platform, end: str) -> None:
    feed(bench, 1)
    worker = LoopWorker(bench).open()
    worker.until(worker.cycle)
    getattr(platform.broker, end)()
    platform.broker.start()
    for _ in range(5):
        try:
            if not worker.group.is_open:
                worker.open()
            worker.read_everything()
            break
        except Unavailable:
            worker.group.abandon()
    feed(bench, 2)
    worker.read_everything()
    bench.check()
