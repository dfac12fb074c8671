"""What the lease planner requests from a real broker, and how it uses the responses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import INPUT, Bench
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions
from own_topics import new_topic, send, settings_of, transactional, write, write_aborted
from service_bench import PARTITIONS

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of
from forebay.platform import Endpoints, Platform
from forebay.runtime.broker.requests import BrokerView
from forebay.runtime.errors import StateConflict, TopicChanged, Unavailable
from forebay.runtime.protocol.lease import SENTINEL, Lease, LeaseOffset
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spark.source import LeaseReader, plan_partitions
from forebay.runtime.spec import JobSpec, StartFrom

Open = Callable[..., LeasePlanner]


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "source", tmp_path)
    yield bench
    bench.close()


def spec_of_job(bench: Bench, **more: Any) -> JobSpec:
    return JobSpec(
        **{
            "service": "user-sessions",
            "application": "source",
            "tasks": PARTITIONS,
            "groups": 2,
            "kafka": bench.settings,
            "logic": {},
            "schema_ids": {},
            "code_version": "v1",
            **more,
        }
    )


@pytest.fixture
def planner(bench: Bench) -> Open:
    """Return a function that creates the planner of a job: planner(start=..., tasks=...)."""
    return lambda **more: LeasePlanner(spec_of_job(bench, **more))


def fill(bench: Bench, partition: int, times: range) -> None:
    """Send a record for each time (ms) to a partition."""
    bench.send(*((b"k", b"value", {"partition": partition, "timestamp": at}) for at in times))


def leases(partitions: Sequence[Any]) -> list[str]:
    return [partition.lease for partition in partitions]


def offset(of: dict[str, Any]) -> LeaseOffset:
    result = LeaseOffset.from_json(of)
    assert result is not None
    return result


def test_a_job_begins_at_the_configured_offsets(bench: Bench, planner: Open) -> None:
    fill(bench, 0, range(1000, 1010))
    fill(bench, 1, range(2000, 2003))
    places = {
        StartFrom("earliest"): (0, 0, 0, 0),
        StartFrom("latest"): (10, 3, 0, 0),
        StartFrom("timestamp", 1004): (4, 0, 0, 0),
        StartFrom("timestamp", 2001): (10, 1, 0, 0),
        StartFrom("timestamp", 9000): (10, 3, 0, 0),
    }
    assert {start: offset(planner(start=start).plan(SENTINEL)).start[INPUT] for start in places} == places


def test_leases_are_numbered_and_each_group_has_its_own_tasks(bench: Bench, planner: Open) -> None:
    of = planner()
    before = time.time_ns() // 1_000_000
    first = of.plan(SENTINEL)
    second = of.plan(first)
    assert [offset(first).number, offset(second).number] == [1, 2]
    assert offset(second).planned_at >= offset(first).planned_at >= before
    assert offset(second).checkpoint == offset(first).checkpoint
    leases = [Lease.from_json(partition.lease) for partition in plan_partitions(first, second)]
    assert [(lease.group, list(lease.numbers), lease.number) for lease in leases] == [(0, [0, 2], 2), (1, [1, 3], 2)]
    assert all(lease.until is None for lease in leases)


def test_bounded_job_gets_one_lease_up_to_the_end_offsets_at_its_start(bench: Bench, planner: Open) -> None:
    fill(bench, 2, range(1, 6))
    of = planner()
    of.freeze()
    fill(bench, 2, range(6, 9))
    first = of.plan(SENTINEL)
    assert offset(first).until == {INPUT: (0, 0, 5, 0)}
    assert of.plan(first) == first, "nothing is left to do"
    later = planner()
    later.freeze()
    second = later.plan(first)
    assert (offset(second).number, offset(second).until) == (2, {INPUT: (0, 0, 8, 0)})
    assert later.plan(second) == second


def test_latest_offsets_stop_at_an_open_transaction(endpoints: Endpoints, wait_until: Callable[..., None]) -> None:
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


def test_leases_continue_during_a_broker_outage(
    bench: Bench, planner: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    of = planner()
    first = of.plan(SENTINEL)
    with monkeypatch.context() as outage:
        outage.setattr(of.broker, "topic_ids", _unavailable)
        second = of.plan(first)
        assert of.plan(second) != second
    assert replace(offset(second), number=1, planned_at=0) == replace(offset(first), planned_at=0)
    of.plan(second)
    messages = [record.getMessage() for record in caplog.records]
    assert [line for line in messages if "can't be reached" in line] == [
        f"{of.spec.application}: the broker can't be reached: the broker is away: retrying until it answers"
    ]
    assert any("answers again after" in line for line in messages)


def _unavailable() -> dict[str, str]:
    raise Unavailable("the broker is away")


def test_partitions_that_fit_the_tasks_are_adopted_and_others_refused(
    bench: Bench, planner: Open, wait_until: Callable[..., None]
) -> None:
    start = planner(tasks=2).plan(SENTINEL)
    fill(bench, 0, range(3))
    _grow(bench, 6, wait_until)
    fill(bench, 5, range(3))
    following = planner(tasks=2).plan(start)
    assert offset(following).start[INPUT] == (0, 0, 0, 0, 0, 0), "an added partition is read from its beginning"
    _grow(bench, 7, wait_until)
    with pytest.raises(TopicChanged, match="7 partitions can't be spread over 2 tasks"):
        planner(tasks=2).plan(following)


def _grow(bench: Bench, count: int, wait_until: Callable[..., None]) -> None:
    admin = AdminClient(bench.settings.admin())
    admin.create_partitions([NewPartitions(INPUT, count)])[INPUT].result(20)
    wait_until(lambda: len(admin.list_topics(INPUT, 10).topics[INPUT].partitions) == count, "the partitions show")


def test_a_checkpoint_of_another_number_of_tasks_is_refused(bench: Bench, planner: Open) -> None:
    start = planner().plan(SENTINEL)
    with pytest.raises(StateConflict, match="the checkpoint has 4 tasks, the changelogs 2"):
        planner(tasks=2).plan(start)


def test_checkpoint_with_more_groups_than_slots_is_refused(bench: Bench, planner: Open) -> None:
    start = planner(groups=4).plan(SENTINEL)
    with pytest.raises(StateConflict, match="has 4 task groups, but there are slots for 2: start with --slots 4"):
        planner(groups=2).plan(start)


def test_a_checkpoint_of_an_earlier_format_is_refused(bench: Bench, planner: Open) -> None:
    with pytest.raises(StateConflict, match="written by another release: move it away, and `forebay run --restore`"):
        planner().plan({"v": 1, "batch": 3})


@pytest.mark.parametrize("running", [True, False])
def test_a_recreated_topic_is_refused(
    bench: Bench, platform: Platform, tmp_path: Path, planner: Open, running: bool
) -> None:
    fill(bench, 0, range(1, 10))
    of = planner()
    start = of.plan(SENTINEL)
    end = of.plan(start)
    reader = LeaseReader(SealedSpec(of.spec))
    assert leases(reader.partitions(start, end)) == leases(plan_partitions(start, end))
    fill(Bench(platform, "source", tmp_path), 0, range(1, 30))
    refused = f"{INPUT}: the checkpoint was made with topic id"
    with pytest.raises(TopicChanged, match=refused):
        (of if running else planner()).plan(end)
    with pytest.raises(TopicChanged, match=refused):
        reader.partitions(start, end)


def test_a_deleted_or_recreated_changelog_is_detected(bench: Bench, planner: Open) -> None:
    (changelog, *_) = bench.service.changelogs("source", PARTITIONS)
    of = planner()
    start = of.plan(SENTINEL)
    end = of.plan(start)
    admin = TopicAdmin(bench.settings)
    admin.delete([changelog.name])
    with pytest.raises(TopicChanged, match=f"the job's topic {changelog.name} does not exist any more"):
        of.plan(end)
    admin.create([spec_of(changelog)])
    with pytest.raises(TopicChanged, match=f"{changelog.name}: the checkpoint was made with topic id"):
        planner().plan(end)
