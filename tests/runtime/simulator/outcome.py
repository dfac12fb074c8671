"""What a run leaves behind: committed outputs, positions and stores, read from the broker's history."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.anomalies import anomalies
from tests.runtime.simulator.topologies import OUTPUT
from tests.runtime.simulator.worker import build, logs
from tests.runtime.simulator.world import Setup, World

Output = tuple[bytes, bytes | None, int]
Rows = dict[bytes, bytes]


@dataclass
class Outcome:
    """What counts of a run.

    Args:
        outputs: as committed, by key in order.
        side: number of records in errors and late.
        stores: rows by sub-topology and task, from all that was ever committed to the changelogs.
    """

    outputs: dict[bytes, list[Output]]
    side: int
    stores: dict[tuple[int, int], Rows]

    @property
    def merged(self) -> dict[int, Rows]:
        """Rows by sub-topology, whichever task has them."""
        found: dict[int, Rows] = defaultdict(dict)
        for (part, _), rows in self.stores.items():
            found[part].update(rows)
        return found


def outcome(world: World) -> Outcome:
    """Return a finished run's outcome."""
    outputs: dict[bytes, list[Output]] = defaultdict(list)
    for record in world.broker.committed(OUTPUT):
        outputs[record.key_ or b""].append((record.key_ or b"", record.value_, record.timestamp_))
    side = len(world.broker.committed("errors")) + len(world.broker.committed("late"))
    return Outcome(dict(outputs), side, changelog_rows(world))


def changelog_rows(world: World) -> dict[tuple[int, int], Rows]:
    """Return every task's rows as its changelogs tell them from the very beginning."""
    found = {}
    for part, log in enumerate(logs(world.job)):
        rows = log.rows()
        for task in range(world.setup.tasks):
            table = MemoryTable()
            for topic in rows.topics:
                for record in world.broker.committed(topic):
                    if record.place[1] == task and record.key_ != POSITION:
                        change = rows.row(topic, record.key_ or b"", record.value_, record.timestamp_)
                        table.apply([change], b"")
            found[part, task] = dict(table.scan(b""))
    return found


def restarted_rows(world: World) -> dict[tuple[int, int], Rows]:
    """Return every task's rows as a new worker has them: snapshots, completed by the changelogs."""
    found = {}
    for group in range(world.setup.groups):
        lease = world.lease(group)
        loop = build(world, lease, world.store.storage(lease.checkpoint), lambda _: None)
        loop.open(lease)
        found.update({task.place: dict(task.table.scan(b"")) for task in loop.tasks})
    return found


def position_faults(world: World) -> list[str]:
    """Return where a task's number of commits does not go up by one from commit to commit."""
    faults = []
    for log in logs(world.job):
        last: dict[int, int] = defaultdict(int)
        for record in world.broker.committed(log.internal):
            if record.key_ == POSITION:
                n = TaskPosition.from_json(record.value_ or b"").n
                follows = n > last[record.place[1]] if world.setup.edits else n == last[record.place[1]] + 1
                if not follows:
                    faults.append(f"{log.internal}-{record.place[1]}: commit {n} after {last[record.place[1]]}")
                last[record.place[1]] = n
    return faults


def faults(setup: Setup, seed: int, inputs: int = 0) -> tuple[World, list[str]]:
    """Run a setup with trouble and without; return the troubled world, and all that differs."""
    calm = World(replace(setup, trouble=0.0, loses_checkpoint=False, edits=0), seed, inputs)
    calm.run()
    troubled = World(setup, seed, inputs)
    troubled.run()
    return troubled, [
        *differences(outcome(calm), outcome(troubled)),
        *position_faults(troubled),
        *_stale(troubled),
        *anomalies(troubled),
    ]


def differences(calm: Outcome, troubled: Outcome) -> list[str]:
    """Return what one run committed and the other did not."""
    found = []
    for key in calm.outputs.keys() | troubled.outputs.keys():
        ours, theirs = troubled.outputs.get(key, []), calm.outputs.get(key, [])
        if ours != theirs:
            found.append(f"outputs of {key!r}: {len(ours)} instead of {len(theirs)}: {ours} instead of {theirs}")
    if calm.side != troubled.side:
        found.append(f"{troubled.side} errors and late records instead of {calm.side}")
    for part, rows in calm.merged.items():
        kept = troubled.merged[part]
        found += [
            f"row {key!r} of part {part}: {kept.get(key)!r} instead of {rows.get(key)!r}"
            for key in sorted(rows.keys() | kept.keys())
            if rows.get(key) != kept.get(key)
        ]
    return found


def _stale(world: World) -> list[str]:
    told, found = changelog_rows(world), restarted_rows(world)
    return [
        f"rows of {place} after a restart differ from the changelogs" for place in told if told[place] != found[place]
    ]
