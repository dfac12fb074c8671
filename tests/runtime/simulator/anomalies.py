"""Checks that the history of a run contains no anomalies, which have their names in Jepsen."""

from __future__ import annotations

from collections import defaultdict

from forebay.runtime.protocol.position import POSITION, TaskPosition
from tests.runtime.simulator.broker import Broker, Record
from tests.runtime.simulator.history import Attempt
from tests.runtime.simulator.worker import logs
from tests.runtime.simulator.world import World

MOST_SECONDS = 30.0
"""Simulated time (s) after the last fault within which everything must be processed."""


def anomalies(world: World) -> list[str]:
    """Return all anomalies of a finished run."""
    return [
        *_transactions(world.broker),
        *_owners(world.broker),
        *_positions(world),
        *_open_transactions(world.broker),
        *_slow(world),
    ]


def _transactions(broker: Broker) -> list[str]:
    """Return partly committed transactions, and transactions whose outcome differs from the broker's response."""
    records: dict[Attempt, list[Record]] = defaultdict(list)
    for record in broker.history:
        if record.attempt is not None:
            records[record.attempt].append(record)
    faults = []
    for attempt, sent in records.items():
        ends = {record.counts for record in sent}
        if len(ends) > 1:
            faults.append(f"torn transaction of {attempt}: {sum(r.counts for r in sent)} of {len(sent)} records count")
        if attempt.answer == "committed" and False in ends:
            faults.append(f"lost write: {attempt} was acknowledged, and was not committed")
        if attempt.answer in ("aborted", "fenced") and True in ends:
            faults.append(f"aborted read: {attempt} was refused, and can be read")
    return faults


def _owners(broker: Broker) -> list[str]:
    """Return commits of a transactional id's owner that follow a commit of a later owner."""
    faults, latest = [], defaultdict[str, int](int)
    for name, epoch, state in broker.coordinator.ends:
        if state == "committed":
            if epoch < latest[name]:
                faults.append(f"two owners: {name} commits in epoch {epoch} after {latest[name]}")
            latest[name] = max(latest[name], epoch)
    return faults


def _positions(world: World) -> list[str]:
    """Return positions that decrease, and offsets of the marker group that are ahead of all positions."""
    faults, reached = [], defaultdict[tuple[str, int], int](int)
    for log in logs(world.job):
        last: dict[tuple[int, str, int], int] = defaultdict(int)
        for record in world.broker.committed(log.internal):
            if record.key_ != POSITION:
                continue
            task = record.place[1]
            for topic, partition, end in TaskPosition.from_json(record.value_ or b"").ends:
                if end < last[task, topic, partition]:
                    faults.append(f"duplicate: {log.internal}-{task} goes back to {end} of {topic}-{partition}")
                last[task, topic, partition] = end
                reached[topic, partition] = max(reached[topic, partition], end)
    if world.setup.edits == 0:
        for place, (offset, _) in world.broker.marked.items():
            if offset > reached[place]:
                faults.append(f"offsets disagree: the marker group has {offset} of {place}, positions {reached[place]}")
    return faults


def _open_transactions(broker: Broker) -> list[str]:
    """Return partitions whose last stable offset is blocked by a decided transaction or one without an owner."""
    while any(
        identity.transaction and identity.transaction.pending for identity in broker.coordinator.identities.values()
    ):
        broker.settle()
    owned = {identity.transaction for identity in broker.coordinator.identities.values()}
    return [
        f"open transaction: {place} is read up to {partition.stable} of {partition.end}"
        for place, partition in broker.partitions.items()
        for transaction in partition.open
        if transaction.state != "open" or transaction not in owned
    ]


def _slow(world: World) -> list[str]:
    seconds = world.broker.now - world.calm_since
    if world.setup.trouble and world.setup.waves == 1 and not world.setup.is_live and seconds > MOST_SECONDS:
        return [f"not done {seconds:.0f} s after the last fault"]
    return []
