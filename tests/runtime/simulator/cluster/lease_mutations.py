"""Breaks one rule of leases at a time, and counts the seeds until the simulated cluster detects it.

Run `python -m tests.runtime.simulator.cluster.lease_mutations` for the table of docs/proof.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.leases import Holding
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spark.topic_watch import TopicWatch
from forebay.runtime.task.runner import GroupRunner
from tests.runtime.simulator.cluster.check import cluster_faults
from tests.runtime.simulator.cluster.setup import LeaseSetup

MOST_SEEDS = 60

GROWING = LeaseSetup(adds_partitions=True)
LASTING = LeaseSetup(outlasts_grace=True)
CLOCKS = replace(LASTING, rate=0.3, kinds=("set_clock", "add_executor", "kill_driver"))
DRIVERS = replace(LASTING, rate=0.3, kinds=("freeze_process", "add_second_driver", "kill_driver", "kill_executor"))


@dataclass(frozen=True, slots=True)
class LeaseMutation:
    """One broken rule.

    Args:
        replaced: class, name of its attribute, and the replacement.
        setup: in which the rule matters.
    """

    rule: str
    replaced: tuple[type, str, Any]
    setup: LeaseSetup


MUTATIONS = (
    LeaseMutation("Leases end if topics have changed", (TopicWatch, "look", lambda self: None), GROWING),
    LeaseMutation(
        "A loop continues only with the partitions that it was built for",
        (Holding, "_origin", property(lambda self: None)),
        GROWING,
    ),
    LeaseMutation(
        "A worker ends its lease on the driver's command",
        (WorkerControl, "is_told_to_end", property(lambda self: False)),
        GROWING,
    ),
    LeaseMutation(
        "A loop that ends during its lease is replaced by its task",
        (Holding, "_needs_change", lambda self, runner: self._is_over),
        LASTING,
    ),
    LeaseMutation("A lease ends with its executor", (Holding, "_is_orphaned", property(lambda self: False)), DRIVERS),
    LeaseMutation(
        "A loop whose lease has ended stops after the grace period",
        (GroupRunner, "release", lambda self: None),
        DRIVERS,
    ),
    LeaseMutation(
        "A lease is planned later than every command",
        (LeasePlanner, "_now", lambda self: self._clock()),
        CLOCKS,
    ),
)


@contextmanager
def broken(mutation: LeaseMutation) -> Iterator[None]:
    """Break a rule for a while."""
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
