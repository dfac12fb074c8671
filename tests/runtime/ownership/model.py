"""A model of the ownership protocol: workers of two drivers, a broker with its coordinator, and faults.

Each group is a tuple, so that states are small and comparable. Of a producer's epoch, the model only knows whether it
is current. Commits are numbered: commit n of a group processes the n-th piece of its input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Worker(NamedTuple):
    """A worker of one driver and group: its phase, whether its epoch is current, and the last commit in its tables.

    Phases in order: "none", "checked" (the marker group names this checkpoint), "fenced" (it has fenced the previous
    owner), "replayed" (only if a rule is broken), "owner", "half" and "sent" (half or all of a transaction's records
    are sent).
    """

    phase: str = "none"
    is_current: bool = False
    position: int = 0


class Group(NamedTuple):
    """A group's state on the broker, its worker of each driver, and the commit number of each driver's snapshot."""

    committed: int = 0
    open_commit: int = 0
    open_halves: int = 0
    has_late_end: bool = False
    workers: tuple[Worker, ...] = (Worker(), Worker())
    snapshots: tuple[int, ...] = (0, 0)


UNLIMITED = -1


class State(NamedTuple):
    """All groups, and the number of faults that may still occur (or UNLIMITED)."""

    groups: tuple[Group, ...]
    faults: int

    def after(self, at: int, group: Group, cost: int) -> State:
        """Return the state after a change of one group. Groups are sorted, because their order does not matter."""
        groups = tuple(sorted((*self.groups[:at], group, *self.groups[at + 1 :])))
        return State(groups, self.left_after(cost))

    def left_after(self, cost: int) -> int:
        return UNLIMITED if self.faults == UNLIMITED else self.faults - cost

    def allows(self, cost: int) -> bool:
        return self.faults == UNLIMITED or cost <= self.faults


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of ARCHITECTURE.md that tests can switch off."""

    broker_fences: bool = True
    fence_before_replay: bool = True
    reopen_after_repeat: bool = True
    reopen_after_unknown: bool = True
    snapshot_between_commits: bool = True


class Violation(Exception):
    """A forbidden state."""


def steps(state: State, rules: Rules, commits: int) -> Iterator[tuple[str, State]]:
    """Yield the name of each possible next step and the state after it. Raises Violation.

    Args:
        commits: Number of commits after which each group has processed all of its input.
    """
    for at, group in enumerate(state.groups):
        for name, cost, changed in _steps_of_group(group, rules, commits):
            if state.allows(cost):
                yield name, state.after(at, changed, cost)
    for driver in range(2):
        if state.allows(1) and any(group.workers[driver].phase != "none" for group in state.groups):
            killed = tuple(sorted(_with(group, driver, Worker()) for group in state.groups))
            yield f"executor of driver {driver} dies", State(killed, state.left_after(1))


def _with(group: Group, driver: int, worker: Worker) -> Group:
    return group._replace(workers=(*group.workers[:driver], worker, *group.workers[driver + 1 :]))


def _steps_of_group(group: Group, rules: Rules, commits: int) -> Iterator[tuple[str, int, Group]]:
    if group.has_late_end:
        ended = _end(group) if group.open_commit else group
        yield "late EndTxn arrives", 0, ended._replace(has_late_end=False)
    for driver, worker in enumerate(group.workers):
        for name, cost, changed in _steps_of_worker(group, driver, worker, rules, commits):
            yield f"driver {driver}: {name}", cost, changed
        if worker.phase != "none":
            yield f"driver {driver}: worker dies", 1, _with(group, driver, Worker())


def _steps_of_worker(
    group: Group, driver: int, worker: Worker, rules: Rules, commits: int
) -> Iterator[tuple[str, int, Group]]:
    phase, is_current, position = worker
    is_refused = rules.broker_fences and not is_current
    if phase == "none":
        yield "gets a lease, checks the marker group", 0, _with(group, driver, Worker("checked"))
    elif phase == "checked" and rules.fence_before_replay:
        yield "initializes its producer", 0, _fence(group, driver, Worker("fenced", True))
    elif phase == "replayed":
        yield "initializes its producer", 0, _fence(group, driver, Worker("owner", True, position))
    elif phase in ("checked", "fenced"):
        if group.snapshots[driver] > group.committed:
            raise Violation("a snapshot is newer than the changelogs")
        then = "owner" if phase == "fenced" else "replayed"
        yield "replays the changelogs", 0, _with(group, driver, Worker(then, is_current, group.committed))
    elif is_refused:
        yield "is fenced, and stops", 0, _with(group, driver, Worker())
    elif phase == "owner" and position < commits:
        begun = group._replace(open_commit=position + 1, open_halves=1)
        yield "sends the first half", 0, _with(begun, driver, Worker("half", is_current, position))
    elif phase in ("half", "sent") and not group.open_commit:
        yield "finds its transaction ended", 0, _with(group, driver, Worker("checked"))
    elif phase == "half":
        yield "sends the rest", 0, _with(group._replace(open_halves=2), driver, Worker("sent", is_current, position))
    elif phase == "sent":
        yield from _commits(group, driver, worker, rules)
    if phase == "owner" or (phase == "sent" and not rules.snapshot_between_commits):
        written = position if phase == "owner" else position + 1
        if written > group.snapshots[driver]:
            snapshots = tuple(written if d == driver else snapshot for d, snapshot in enumerate(group.snapshots))
            yield "writes a snapshot", 0, group._replace(snapshots=snapshots)


def _commits(group: Group, driver: int, worker: Worker, rules: Rules) -> Iterator[tuple[str, int, Group]]:
    """Yield the outcomes of EndTxn: answered, sent twice by the client, lost, or executed with its answer lost."""
    ended, done = _end(group), Worker("owner", worker.is_current, worker.position + 1)
    again = Worker("checked")
    yield "commits", 0, _with(ended, driver, done)
    repeated = _with(ended, driver, again if rules.reopen_after_repeat else done)
    yield "commits, and a copy of EndTxn is late", 1, repeated._replace(has_late_end=True)
    unknown = again if rules.reopen_after_unknown else worker._replace(phase="owner")
    yield "loses EndTxn", 1, _with(group, driver, unknown)
    yield "loses the answer to EndTxn", 1, _with(ended, driver, unknown)


def _fence(group: Group, driver: int, worker: Worker) -> Group:
    """Abort the open transaction and begin a new epoch. The broker then rejects a late EndTxn of an older epoch."""
    workers = tuple(other._replace(is_current=False) for other in group.workers)
    fenced = group._replace(workers=workers, open_commit=0, open_halves=0, has_late_end=False)
    return _with(fenced, driver, worker)


def _end(group: Group) -> Group:
    """Commit the open transaction. Raises Violation."""
    if group.open_halves < 2:
        raise Violation("half of a transaction is committed")
    if group.open_commit != group.committed + 1:
        raise Violation(f"commit {group.open_commit} follows commit {group.committed}")
    return group._replace(committed=group.open_commit, open_commit=0, open_halves=0)
