"""Mutation test of the simulated cluster: break one rule of leases, and count the seeds until a run detects it.
Run `python -m tests.runtime.simulator.cluster.lease_mutations` for the table of docs/proof.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from forebay.runtime.driver.lease_end import LeaseEnd
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.maintenance import rescale
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spark.control import DriverControl, WorkerControl
from forebay.runtime.spark.leases import Holding
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.task.snapshot import SnapshotWriter
from forebay.runtime.worker import transaction
from forebay.runtime.worker.broker_requests import GroupSurroundings
from tests.runtime.simulator.cluster.check import cluster_faults
from tests.runtime.simulator.cluster.setup import LeaseSetup
from tests.runtime.simulator.setup import Setup

MOST_SEEDS = 60

GROWING = LeaseSetup(adds_partitions=True)
RESUMED = LeaseSetup(adds_partitions=True, grows_late=True, rate=0.3, kinds=("kill_driver", "set_clock"))
LASTING = LeaseSetup(outlasts_grace=True)
CLOCKS = replace(LASTING, rate=0.3, kinds=("set_clock", "add_executor", "kill_driver"))
LOST = replace(LASTING, rate=0.2, kinds=("lose_executor", "kill_process", "move_coordinator"))
DAMAGED = replace(LASTING, rate=0.4, kinds=("damage_snapshots", "kill_process"))
RECREATED = LeaseSetup(recreates_input=True)
COUNTS = Setup("counts", 4, 2, 2, records=40, is_live=True, trouble=0.002)
RESCALED = LeaseSetup(COUNTS, kinds=("rescale", "kill_process"))
VANISHED = LeaseSetup(end="vanish")
CUT_OFF = LeaseSetup(end="stop_without_broker", rate=0.0)
DRAINED = LeaseSetup(drains=True, rate=0.5, kinds=("add_second_driver", "kill_driver", "kill_process"))
UNREPORTED = LeaseSetup(end="change_before_report", rate=0.0)
DRIVERS = replace(LASTING, rate=0.3, kinds=("freeze_process", "add_second_driver", "kill_driver", "kill_executor"))


@dataclass(frozen=True, slots=True)
class LeaseMutation:
    """A change of the code that breaks a rule.

    Args:
        rule: The rule.
        replaced: Classes or modules, names of their attributes, and the replacements.
        setup: A setup in which the rule matters.
    """

    rule: str
    replaced: tuple[type | ModuleType, str, Any]
    setup: LeaseSetup


def _commands_by_clock(self: DriverControl, *, is_followed: bool = False) -> int:
    return self._command(self._clock(), is_followed=is_followed)


def _compares_with_start(original: Any) -> Any:
    first: WeakKeyDictionary[JobRunner, str] = WeakKeyDictionary()

    def compare(self: JobRunner, topics: str) -> None:
        if first.setdefault(self, topics) != topics:
            original(self, topics)

    return compare


def _replaces_no_loop(self: Holding, runner: GroupRunner) -> bool:
    # Snapshots, too, show that another worker has the group.
    self._keep = lambda runner: ""  # type: ignore[method-assign]
    return self._is_over


def _uses_damaged(original: Any) -> Any:
    return lambda self, stored, blocks: original(self, stored, blocks) or True


def _uses_one_position(original: Any) -> Any:
    return lambda positions, *arguments: original(positions[:1], *arguments)


def _forgets_wait(self: LeaseEnd) -> None:
    if self._since is not None:
        self._since = self._monotonic()


MUTATIONS = (
    LeaseMutation(
        "Leases end if topics have changed", (JobRunner, "compare_topics", lambda self, topics: None), GROWING
    ),
    LeaseMutation(
        "A loop continues only with the partitions that it was built for",
        (Holding, "_origin", property(lambda self: None)),
        GROWING,
    ),
    LeaseMutation(
        "A worker ends its lease on the driver's command",
        (WorkerControl, "must_end", property(lambda self: False)),
        GROWING,
    ),
    LeaseMutation(
        "A loop that ends during its lease is replaced by its task",
        (Holding, "_needs_change", _replaces_no_loop),
        LASTING,
    ),
    LeaseMutation("A lease ends with its executor", (Holding, "_is_orphaned", property(lambda self: False)), VANISHED),
    LeaseMutation(
        "A loop whose lease has ended stops after the grace period",
        (GroupRunner, "release", lambda self: None),
        DRIVERS,
    ),
    LeaseMutation(
        "A lease is planned later than every command to end leases",
        (LeasePlanner, "_now", lambda self: self._clock()),
        LeaseSetup(end="change_with_a_clock_ahead", rate=0.0),
    ),
    LeaseMutation(
        "A command ends leases that were planned before the driver's clock was set back",
        (DriverControl, "end_leases", _commands_by_clock),
        replace(CLOCKS, end="change"),
    ),
    LeaseMutation("A fenced worker stops", (transaction, "refuse_lost", lambda error: None), LOST),
    LeaseMutation(
        "The topics are compared with those that the running leases were planned for",
        (JobRunner, "compare_topics", _compares_with_start(JobRunner.compare_topics)),
        RESUMED,
    ),
    LeaseMutation(
        "A snapshot with a damaged or missing block is not used",
        (SnapshotWriter, "_fill", _uses_damaged(SnapshotWriter._fill)),
        DAMAGED,
    ),
    LeaseMutation(
        "A worker checks once a second whether its inputs were recreated",
        (GroupSurroundings, "check_topics", lambda self, lease: None),
        RECREATED,
    ),
    LeaseMutation(
        "A rescaled task continues at the positions of all tasks whose keys it gets",
        (rescale, "merge_positions", _uses_one_position(rescale.merge_positions)),
        RESCALED,
    ),
    LeaseMutation(
        "The driver waits for a limited time for leases that it ends",
        (LeaseEnd, "hindrance", lambda self, is_last: ""),
        CUT_OFF,
    ),
    LeaseMutation(
        "A worker without a broker gives up a lease that it has not reported",
        (Holding, "_check_broker", lambda self, trouble: None),
        UNREPORTED,
    ),
    LeaseMutation(
        "A run ends without an error only if its leases have reached their end offsets",
        (LeaseResult, "is_cut_short", property(lambda self: False, lambda self, value: None)),
        DRAINED,
    ),
    LeaseMutation(
        "A run whose own command ends its leases before their end offsets plans others",
        (JobRunner, "_has_finished", property(lambda self: not self._restarting.is_set())),
        DRAINED,
    ),
    LeaseMutation(
        "A loop continues only with the end offsets that it was built for",
        (Holding, "_origin", property(lambda self: self._spec.checkpoint)),
        replace(DRAINED, kinds=("kill_driver", "set_clock")),
    ),
    LeaseMutation(
        "A failed request does not restart the wait for leases",
        (LeaseEnd, "note_silence", _forgets_wait),
        CUT_OFF,
    ),
)


@contextmanager
def broken(mutation: LeaseMutation) -> Iterator[None]:
    """Apply a mutation within the context."""
    owner, name, replacement = mutation.replaced
    original = owner.__dict__[name]
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, original)


def seeds_until_noticed(mutation: LeaseMutation, most: int = MOST_SEEDS) -> tuple[int, str] | None:
    """Return the number of seeds until a run shows that the rule is broken, and how; None if no run does."""
    with broken(mutation):
        for seed in range(most):
            fault = _first_fault(mutation.setup, seed)
            if fault:
                return seed + 1, fault
    return None


def _first_fault(setup: LeaseSetup, seed: int) -> str:
    try:
        return next(iter(cluster_faults(setup, seed)[1]), "")
    except (AttributeError, NameError, TypeError):  # the mutation itself is wrong
        raise
    except Exception as error:  # a job that stops has been noticed, too
        return f"{type(error).__name__}: {error}"


def main() -> None:
    """Print the table."""
    logging.disable(logging.CRITICAL)
    print("| broken rule | seeds | first difference |", "|---|---|---|", sep="\n")
    for mutation in MUTATIONS:
        seeds, fault = seeds_until_noticed(mutation) or (f"not in {MOST_SEEDS}", "none")
        print(f"| {mutation.rule} | {seeds} | {fault[:90]} |", flush=True)


if __name__ == "__main__":
    main()
