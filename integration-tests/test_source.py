"""What the source asks a real broker, and what it makes of the answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import INPUT, Bench
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from own_topics import new_topic, send, settings_of, transactional, write, write_aborted
from service_bench import PARTITIONS

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of
from forebay.platform import Endpoints, Platform
from forebay.runtime.broker import BrokerView
from forebay.runtime.errors import OffsetsLost, TopicChanged, Unavailable
from forebay.runtime.offsets import SENTINEL, task_batches
from forebay.runtime.offsets import SourceOffset as Offset
from forebay.runtime.planner import Limits
from forebay.runtime.spark.source import RangePlanner, RangeReaderOnDriver, rows
from forebay.runtime.spec import JobSpec, StartFrom

MINUTE_MS = 60_000


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "source", tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def planner(bench: Bench) -> Iterator[Callable[..., RangePlanner]]:
    """Give the function that opens a job's planner: planner(start=..., tasks=...)."""
    opened: list[RangePlanner] = []

    def plan(start: StartFrom | None = None, tasks: int = PARTITIONS) -> RangePlanner:
        spec = JobSpec(
            service="user-sessions",
            application="source",
            tasks=tasks,
            state_partitions=1,
            kafka=bench.settings,
            logic={},
            schema_ids={},
            code_version="v1",
            start=start or StartFrom(),
        )
        opened.append(RangePlanner(spec))
        return opened[-1]

    yield plan
    for each in opened:
        each.close()


def fill(bench: Bench, partition: int, times: range) -> None:
    """Send a record for each time (ms) to a partition."""
    bench.send(*((b"k", b"value", {"partition": partition, "timestamp": at}) for at in times))


def ends(offset: dict[str, Any] | None) -> tuple[int, ...]:
    found = Offset.from_json(offset or {})
    assert found is not None
    return found.ends[INPUT]


def step(of: RangePlanner, start: dict[str, Any], **limits: int) -> dict[str, Any]:
    return of.plan(start, Limits(**{"tick_ms": 0, **limits}))


def test_a_job_begins_where_it_is_told_to(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    fill(bench, 0, range(1000, 1010))
    fill(bench, 1, range(2000, 2003))
    places = {
        StartFrom("earliest"): (0, 0, 0, 0),
        StartFrom("latest"): (10, 3, 0, 0),
        StartFrom("timestamp", 1004): (4, 0, 0, 0),
        StartFrom("timestamp", 2001): (10, 1, 0, 0),
        StartFrom("timestamp", 9000): (10, 3, 0, 0),
    }
    assert {start: ends(step(planner(start), SENTINEL)) for start in places} == places


def test_batches_follow_each_other_until_nothing_is_left(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    fill(bench, 2, range(1, 6))
    of = planner()
    first = step(of, SENTINEL)
    second = step(of, first)
    assert ends(second) == (0, 0, 5, 0)
    assert step(of, second) == second
    known, following = Offset.from_json(first), Offset.from_json(second)
    assert known is not None
    assert following is not None
    ranges = [(b.task, r.partition, r.start, r.end) for b in task_batches(known, following) for r in b.ranges]
    assert ranges == [(0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 0, 5), (3, 3, 0, 0)]


def test_an_open_transaction_is_not_read_past(endpoints: Endpoints, wait_until: Callable[..., None]) -> None:
    settings = settings_of(endpoints)
    topic = new_topic(settings, "source", 2)
    view = BrokerView(AdminClient(settings.admin()), Consumer(settings.consumer()), (topic,))
    write(settings, topic, [(0, "a"), (1, "b")])
    wait_until(lambda: view.latest() == {topic: (2, 2)}, "a transaction's end shows")
    producer = transactional(settings, f"{topic}-open")
    producer.begin_transaction()
    send(producer, topic, [(0, "c")])
    write(settings, topic, [(0, "d"), (1, "e")])
    wait_until(lambda: view.latest()[topic][1] == 4, "a transaction's end shows")
    assert view.latest() == {topic: (2, 4)}, "the last stable offset stays before the open transaction"
    producer.commit_transaction(30)
    wait_until(lambda: view.latest() == {topic: (6, 4)}, "the open transaction's end shows")
    write_aborted(settings, topic, [(1, "f")])
    wait_until(lambda: view.latest() == {topic: (6, 6)}, "an aborted transaction's end shows")


def test_times_and_sizes_are_those_of_the_records(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    fill(bench, 0, range(1000, 1100))
    fill(bench, 1, range(5000, 5010))
    view = planner().broker
    assert view.timestamps({(INPUT, 0): 7, (INPUT, 1): 0}) == {(INPUT, 0): 1007, (INPUT, 1): 5000}
    assert view.offsets_for({(INPUT, 0): 1050, (INPUT, 1): 9000}) == {(INPUT, 0): 50, (INPUT, 1): 10}
    assert view.average_bytes({(INPUT, 0): 0, (INPUT, 2): 0}) == {(INPUT, 0): len(b"k" + b"value")}


def test_a_dense_and_a_sparse_partition_go_through_time_together(
    bench: Bench, planner: Callable[..., RangePlanner]
) -> None:
    fill(bench, 0, range(MINUTE_MS, 61 * MINUTE_MS, 1000))
    fill(bench, 1, range(MINUTE_MS, 61 * MINUTE_MS, MINUTE_MS))
    of = planner()
    offset, places = step(of, SENTINEL), []
    while (following := step(of, offset, max_records=500)) != offset:
        offset = following
        places.append(ends(offset))
    assert places[-1] == (3600, 60, 0, 0)
    assert len(places) >= 3660 // 500
    for dense, sparse, *_ in places[:-1]:
        assert abs(dense * 1000 - sparse * MINUTE_MS) <= MINUTE_MS, f"at {dense} and {sparse} they are too far apart"


def test_a_record_from_the_future_in_front_makes_no_batch_read_beyond_the_end(
    bench: Bench, planner: Callable[..., RangePlanner]
) -> None:
    for partition in (0, 1):
        fill(bench, partition, range(60 * MINUTE_MS, 60 * MINUTE_MS + 1))
    fill(bench, 0, range(1, 2000))
    fill(bench, 1, range(1, 10))
    of = planner()
    offset, places = step(of, SENTINEL), [(0, 0, 0, 0)]
    while (following := step(of, offset, max_records=500)) != offset:
        offset = following
        places.append(ends(offset))
    assert places == sorted(places)
    assert places[-1] == (2000, 10, 0, 0)
    assert all(sparse <= 10 for _, sparse, *_ in places)


def test_an_outage_does_not_pass_for_the_end_of_what_was_waiting(
    bench: Bench, planner: Callable[..., RangePlanner], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bench, 0, range(1, 1000))
    of = planner()
    start = step(of, SENTINEL)
    of.freeze()
    with monkeypatch.context() as outage:
        outage.setattr(of.broker, "timestamps", unavailable)
        with pytest.raises(Unavailable):
            step(of, start, max_records=10)
    assert ends(step(of, start, max_records=10)) == (10, 0, 0, 0)


def unavailable(_: object) -> None:
    raise Unavailable("the broker is away")


def test_bytes_limit_a_batch_too(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    fill(bench, 0, range(1, 1001))
    of = planner()
    start = step(of, SENTINEL)
    size = len(b"k" + b"value")
    assert ends(step(of, start, max_bytes=100 * size)) == (100, 0, 0, 0)


def test_partitions_that_fit_the_tasks_are_adopted_and_others_refused(
    bench: Bench, planner: Callable[..., RangePlanner], wait_until: Callable[..., None]
) -> None:
    start = step(planner(tasks=3), SENTINEL) | {"tasks": 2, "idle_ms": [0, 0]}
    grow(bench, 6, wait_until)
    fill(bench, 5, range(3))
    following = step(planner(tasks=2), start)
    assert ends(following) == (0, 0, 0, 0, 0, 3)
    grow(bench, 7, wait_until)
    with pytest.raises(TopicChanged, match="7 partitions can't be spread over 2 tasks"):
        step(planner(tasks=2), following)


def grow(bench: Bench, count: int, wait_until: Callable[..., None]) -> None:
    admin = AdminClient(bench.settings.admin())
    admin.create_partitions([NewPartitions(INPUT, count)])[INPUT].result(20)
    wait_until(lambda: len(admin.list_topics(INPUT, 10).topics[INPUT].partitions) == count, "the partitions show")


@pytest.mark.parametrize("running", [True, False])
def test_a_topic_made_again_is_refused(
    bench: Bench, platform: Platform, tmp_path: Path, planner: Callable[..., RangePlanner], running: bool
) -> None:
    fill(bench, 0, range(1, 10))
    of = planner()
    end = step(of, step(of, SENTINEL))
    Bench(platform, "source", tmp_path)
    with pytest.raises(TopicChanged, match=f"{INPUT}: the checkpoint was made with topic id"):
        step(of if running else planner(), end)


def test_records_deleted_while_the_job_was_down_stop_it(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    fill(bench, 0, range(10))
    start = step(planner(), SENTINEL)
    admin = AdminClient(bench.settings.admin())
    for future in admin.delete_records([TopicPartition(INPUT, 0, 4)]).values():
        future.result(20)
    with pytest.raises(OffsetsLost, match=f"{INPUT}-0: offset 0 is wanted, but the topic begins at 4"):
        step(planner(), start)


def test_lag_is_told_to_a_group_of_its_own(
    bench: Bench, planner: Callable[..., RangePlanner], wait_until: Callable[..., None]
) -> None:
    fill(bench, 1, range(7))
    of = planner()
    of.report_lag(step(of, step(of, SENTINEL)))
    group = Consumer(bench.settings.consumer(**{"group.id": "source"}))
    place = TopicPartition(INPUT, 1)
    wait_until(lambda: group.committed([place], 10)[0].offset == 7, "the group's offset is committed")
    group.close()


def test_idle_time_is_counted_by_ticks(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    of = planner()
    first = Offset.from_json(step(of, SENTINEL))
    assert first is not None
    assert first.caught_up
    earlier = dataclasses.replace(first, clock=first.clock - 20_000)
    ticked = Offset.from_json(of.plan(earlier.to_json(), Limits()))
    assert ticked is not None
    assert ticked.batch == 1
    assert all(20_000 <= idle <= 60_000 for idle in ticked.idle_ms)


def test_a_topic_made_again_that_holds_more_than_the_old_one_is_noticed_before_it_is_read(
    bench: Bench, platform: Platform, tmp_path: Path, planner: Callable[..., RangePlanner]
) -> None:
    fill(bench, 0, range(1, 10))
    of = planner()
    end = step(of, step(of, SENTINEL))
    again = Bench(platform, "source", tmp_path)
    fill(again, 0, range(1, 30))
    with pytest.raises(TopicChanged, match=f"{INPUT}: the checkpoint was made with topic id"):
        step(of, end)


def test_a_batch_planned_before_the_topic_was_made_again_is_not_read_from_the_new_one(
    bench: Bench, platform: Platform, tmp_path: Path, planner: Callable[..., RangePlanner]
) -> None:
    fill(bench, 0, range(1, 10))
    of = planner()
    start = step(of, SENTINEL)
    end = step(of, start)
    reader = RangeReaderOnDriver(of.spec)
    assert list(reader.readBetweenOffsets(start, end)) == rows(start, end)
    fill(Bench(platform, "source", tmp_path), 0, range(1, 30))
    with pytest.raises(TopicChanged, match=f"{INPUT}: the checkpoint was made with topic id"):
        list(reader.readBetweenOffsets(start, end))


def test_a_changelog_that_is_deleted_or_made_again_is_noticed(
    bench: Bench, planner: Callable[..., RangePlanner]
) -> None:
    (changelog, *_) = bench.service.changelogs("source", PARTITIONS)
    of = planner()
    start = step(of, SENTINEL)
    fill(bench, 0, range(1, 10))
    end = step(of, start)
    admin = TopicAdmin(bench.settings)
    admin.delete([changelog.name])
    fill(bench, 0, range(10, 20))
    with pytest.raises(TopicChanged, match=f"the job's topic {changelog.name} does not exist any more"):
        step(of, end)
    admin.create([spec_of(changelog)])
    with pytest.raises(TopicChanged, match=f"{changelog.name}: the checkpoint was made with topic id"):
        step(planner(), end)


def test_a_checkpoint_that_knows_no_changelogs_learns_them(bench: Bench, planner: Callable[..., RangePlanner]) -> None:
    of = planner()
    start = step(of, SENTINEL)
    older = start | {"topic_ids": {INPUT: start["topic_ids"][INPUT]}}
    assert step(of, older) == older
    fill(bench, 0, range(1, 10))
    assert step(of, older)["topic_ids"] == start["topic_ids"]
    assert start["topic_ids"].keys() == {INPUT, *(topic.name for topic in bench.service.changelogs("source", 4))}
