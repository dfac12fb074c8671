"""The results of a run (committed outputs, positions and stores), and their comparison with a run without faults."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.record_formats import topic_of
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.anomalies import anomalies
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import OUTPUT
from tests.runtime.simulator.worker import build, logs
from tests.runtime.simulator.world import World

Output = tuple[bytes, bytes | None, int]
Rows = dict[bytes, bytes]


@dataclass
class Outcome:
    """The results of a run that must be the same with and without faults.

    Args:
        outputs: Committed outputs of each key, in order.
        side: Numbers of records in `.errors` and `.late`.
        stores: Rows by sub-topology and task, from all records that were ever committed to the changelogs.
    """

    outputs: dict[bytes, list[Output]]
    side: int
    stores: dict[tuple[int, int], Rows]

    @property
    def merged(self) -> dict[int, Rows]:
        """Rows by sub-topology, regardless of their task."""
        rows_by_task: dict[int, Rows] = defaultdict(dict)
        for (part, _), rows in self.stores.items():
            rows_by_task[part].update(rows)
        return rows_by_task


def outcome(world: World) -> Outcome:
    """Return a finished run's outcome."""
    outputs: dict[bytes, list[Output]] = defaultdict(list)
    for record in world.broker.committed(OUTPUT):
        outputs[record.key_ or b""].append((record.key_ or b"", record.value_, record.timestamp_))
    side = len(world.broker.committed("errors")) + len(world.broker.committed("late"))
    return Outcome(dict(outputs), side, changelog_rows(world))


def changelog_rows(world: World) -> dict[tuple[int, int], Rows]:
    """Return every task's rows as restored from the complete changelogs."""
    rows_by_task = {}
    for part, log in enumerate(logs(world.job)):
        rows = log.rows()
        for task in range(world.setup.tasks):
            table = MemoryTable()
            for topic in rows.topics:
                for record in world.broker.committed(topic):
                    if record.place[1] == task and record.key_ != POSITION:
                        change = rows.row(topic, record.key_ or b"", record.value_, record.timestamp_)
                        table.apply([change], b"")
            rows_by_task[part, task] = dict(table.scan(b""))
    return rows_by_task


def restarted_rows(world: World) -> dict[tuple[int, int], Rows]:
    """Return every task's rows as a new worker restores them, from snapshots and changelogs."""
    rows_by_task = {}
    for group in range(world.setup.groups):
        lease = world.driving.lease(group)
        loop = build(world, lease, world.store.storage(lease.checkpoint), lambda _: None)
        loop.open(lease)
        rows_by_task.update({task.place: dict(task.table.scan(b"")) for task in loop.tasks})
    return rows_by_task


def position_faults(world: World) -> list[str]:
    """Return the commits at which a task's commit number does not increase by one."""
    faults = []
    for log in logs(world.job):
        last: dict[int, int] = defaultdict(int)
        for record in world.broker.committed(log.internal):
            if record.key_ == POSITION:
                n = TaskPosition.from_json(record.value_ or b"").n
                may_skip = world.setup.edits or world.is_rescaled
                follows = n > last[record.place[1]] if may_skip else n == last[record.place[1]] + 1
                if not follows:
                    faults.append(f"{log.internal}-{record.place[1]}: commit {n} after {last[record.place[1]]}")
                last[record.place[1]] = n
    return faults


def faults(setup: Setup, seed: int, inputs: int = 0) -> tuple[World, list[str]]:
    """Run a setup with and without faults. Return the world with faults, and all differences between the results."""
    calm = World(replace(setup, trouble=0.0, loses_checkpoint=False, edits=0, formats=0), seed, inputs)
    calm.run()
    troubled = World(setup, seed, inputs)
    troubled.run()
    return troubled, [
        *differences(outcome(calm), outcome(troubled)),
        *position_faults(troubled),
        *stale_tasks(troubled),
        *anomalies(troubled),
    ]


def differences(calm: Outcome, troubled: Outcome) -> list[str]:
    """Return the differences between the committed results of two runs."""
    differences = []
    for key in calm.outputs.keys() | troubled.outputs.keys():
        ours, theirs = troubled.outputs.get(key, []), calm.outputs.get(key, [])
        if ours != theirs:
            differences.append(f"outputs of {key!r}: {len(ours)} instead of {len(theirs)}: {ours} instead of {theirs}")
    if calm.side != troubled.side:
        differences.append(f"{troubled.side} errors and late records instead of {calm.side}")
    for part, rows in calm.merged.items():
        actual = troubled.merged[part]
        differences += [
            f"row {key!r} of part {part}: {actual.get(key)!r} instead of {rows.get(key)!r}"
            for key in sorted(rows.keys() | actual.keys())
            # Only a run with edits has records in several formats.
            if rows.get(key) != actual.get(key) and not topic_of(key)
        ]
    return differences


def stale_tasks(world: World) -> list[str]:
    """Return the tasks whose rows after a restart differ from the changelogs."""
    logged, restarted = changelog_rows(world), restarted_rows(world)
    return [
        f"rows of {place} after a restart differ from the changelogs"
        for place in logged
        if logged[place] != restarted[place]
    ]
