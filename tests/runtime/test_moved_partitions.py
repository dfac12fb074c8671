"""A sub-topology that another one's partitions come to does not read them again from their beginning: it is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from forebay.builder import Topology, job
from forebay.builder.shown import NoSettings
from forebay.job import Job, SubTopology
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.reads import refuse_moved, task_input
from tests.runtime.simulator.state import GroupState
from tests.runtime.simulator.topologies import Collect, Number
from tests.runtime.simulator.worker import build, logs
from tests.runtime.simulator.world import Setup, World

LEASE = Lease("here", 1, 0, 1, 2, 0, dict.fromkeys(("a", "b", "c", "rows"), (0, 0)))
START = TaskPosition("here", 0)


def counts(*topics: str) -> Job:
    """Return a job that counts each topic apart."""

    def described(_: object) -> Topology:
        topology = Topology()
        for topic in topics:
            topology.stream(topic, str).group_by_key().count(store=f"of-{topic}").to_stream().to(f"{topic}-counts")
        return topology

    return job(NoSettings, described)


def regrouped(*stores: str) -> Job:
    """Return a job that counts one topic by several keys, each behind a repartition."""

    def described(_: object) -> Topology:
        topology = Topology()
        records = topology.stream("a", str)
        for store in stores:
            records.group_by(lambda _, value: value, str).count(store=store).to_stream().to(f"{store}-counts")
        return topology

    return job(NoSettings, described)


def merged(_: object) -> Topology:
    topology = Topology()
    both = topology.stream("a", str).merge(topology.stream("b", str))
    both.group_by_key().count(store="of-both").to_stream().to("counts")
    return topology


def with_global(*topics: str) -> Job:
    """Return a job of which each stream looks rows of the same global table up."""

    def described(_: object) -> Topology:
        topology = Topology()
        rows = topology.global_table("rows", str, store="rows")
        for topic in topics:
            found = topology.stream(topic, str).join(
                rows, lambda value, row: value + row, str, key_of=lambda key, _: key
            )
            found.repartition(topic).to(f"{topic}-found")
        return topology

    return job(NoSettings, described)


def start(
    before: Job, now: Job, marked: Collection[tuple[str, int]] = (), only: Collection[int] = (0, 1, 2, 3)
) -> None:
    """Let a job take over where another one stood after it had read ten records of each partition."""
    positions = {}
    for part in range(len(before.topology)):
        for number in LEASE.numbers:
            read = task_input(before, "app", (part, number), LEASE, START).parts
            ends = tuple((each.topic, each.partition, 10) for each in read)
            positions[part, number] = replace(START, n=1, ends=ends) if part in only else START
    reads = {
        (part, number): task_input(now, "app", (part, number), LEASE, START)
        for part in range(len(now.topology))
        for number in LEASE.numbers
    }
    refuse_moved("app-group-0", reads, positions, marked)


REFUSED = {
    "swapped": (counts("a", "b"), counts("b", "a"), "b was read by sub-topology 1, and would be by sub-topology 0"),
    "one put before": (counts("a"), counts("c", "a"), "a was read by sub-topology 0, and would be by sub-topology 1"),
    "brought together": (counts("a", "b"), job(NoSettings, merged), "b was read by sub-topology 1, and would be by"),
    "split": (
        job(NoSettings, merged),
        counts("a", "b"),
        "b was read by sub-topology 0, and would be by sub-topology 1",
    ),
    "repartitions swapped": (
        regrouped("x", "y"),
        regrouped("y", "x"),
        "app-y-repartition was read by sub-topology 2, and would be by sub-topology 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_another_one_has_read_is_refused_with_what_to_do(case: str) -> None:
    before, now, said = REFUSED[case]
    with pytest.raises(StateConflict, match=re.escape(said) + ".*in its old order.*what is new after it"):
        start(before, now)


def test_what_one_has_read_that_is_gone_is_known_from_the_marker_group() -> None:
    with pytest.raises(StateConflict, match="b was read by a sub-topology that is gone, and would be by"):
        start(counts("a", "b"), job(NoSettings, merged), [("b", 0)], only=[0])
    with pytest.raises(StateConflict, match="app-y-repartition was read by a sub-topology that is gone"):
        start(regrouped("x", "y"), regrouped("y"), [("app-y-repartition", 1)], only=[0, 1])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (counts("a", "b"), counts("a", "b")),
        (counts("a"), counts("a", "b")),
        (counts("a", "b"), counts("a")),
        (counts("a"), job(NoSettings, merged)),
        (regrouped("x"), regrouped("x", "y")),
        (with_global("a", "b"), with_global("a", "b")),
    ],
)
def test_what_stays_in_its_order_goes_on(before: Job, now: Job) -> None:
    start(before, now, [("a", 0), ("a", 1)])


@pytest.fixture
def world() -> World:
    return World(Setup("sum", 1, 1), 0)


def test_a_group_is_refused_before_it_reads(world: World) -> None:
    def opened() -> Callable[[], object]:
        lease = world.lease(0)
        group = build(world, lease, GroupState().attempt(), lambda _: None)
        group.open(lease)
        return lambda: group.cycle(lease, 0.02)

    cycle = opened()
    while not cycle():
        pass
    [counted] = world.job.topology
    put_before = SubTopology("before", lambda _: Collect(), {"others": Number})
    world.job = replace(world.job, inputs={"others": Number, **world.job.inputs}, graph=(put_before, counted))
    for log in logs(world.job):
        for topic in set(log.rows().topics) - set(world.changelogs):
            world.broker.create(topic, 1)
    with pytest.raises(StateConflict, match="numbers was read by sub-topology 0, and would be by sub-topology 1"):
        opened()
