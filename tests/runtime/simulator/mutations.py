"""Mutation test of the simulator: break one rule of ARCHITECTURE.md, and count the seeds until a run detects it.

This shows that the simulator would notice an error in the code for each rule.
Run `python -m tests.runtime.simulator.mutations` for the table of docs/proof.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from forebay.runtime.driver import record_formats
from forebay.runtime.driver.committed_records import Place
from forebay.runtime.driver.record_formats import Reading
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.coverage import Coverage
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.record_formats import RecordFormat
from forebay.runtime.task.sender_stream import SenderStream
from forebay.runtime.task.snapshot import SnapshotWriter
from forebay.runtime.task.tail import Tail
from forebay.runtime.worker.broker_requests import GroupSurroundings
from forebay.runtime.worker.retries import RetryWatch
from forebay.runtime.worker.transaction import GroupProducer
from tests.runtime.simulator.clients import MemoryProducer
from tests.runtime.simulator.coordinator import Coordinator
from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import OUTPUT

MOST_SEEDS = 40


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of the code that breaks a rule.

    Args:
        rule: The rule.
        replaced: Classes or modules, names of their attributes, and the replacements.
        setup: A setup in which the rule matters.
    """

    rule: str
    replaced: tuple[tuple[Any, str, Any], ...]
    setup: Setup


def _outputs_outside(original: Callable[..., None]) -> Callable[..., None]:
    def produce(self: Any, topic: str, value: Any, key: Any, partition: int = 0, **rest: Any) -> None:
        if topic == OUTPUT:
            self._broker.append((topic, partition), key, value, rest["timestamp"], rest.get("headers"))
        else:
            original(self, topic, value, key, partition, **rest)

    return produce


def _fence_last(original: Callable[[TaskGroup, Lease], None]) -> Callable[[TaskGroup, Lease], None]:
    """Return a method that opens a group, but initializes its producer only after the changelogs were read."""

    def open_group(self: TaskGroup, lease: Lease) -> None:
        producer: Any = self._producer
        fence, producer.fence = producer.fence, lambda: None
        try:
            original(self, lease)
        finally:
            producer.fence = fence
        fence()

    return open_group


def _keeps_producer(self: GroupProducer) -> None:
    """Abort an attempt, but continue to use its producer."""
    producer: Any = self._producer
    if producer is not None:
        producer._is_usable = True


def _calls(self: RetryWatch, producer: object, call: Callable[[], object]) -> bool:
    call()
    return False


def _purges_everything(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    return lambda self, ends: original(self, {place: end + 20 for place, end in ends.items()})


def _of_opened_groups(readings: Mapping[Place, Reading], formats: Mapping[str, RecordFormat]) -> dict[Place, Reading]:
    return {place: one for place, one in readings.items() if one.digest != formats[place[0]].digest}


TROUBLED = Setup("sum", 1, 1, records=60, trouble=0.03, turns=150)

MUTATIONS = (
    Mutation(
        "Outputs, rows, position and offsets are committed in one transaction, or not at all",
        ((MemoryProducer, "produce", _outputs_outside(MemoryProducer.produce)),),
        TROUBLED,
    ),
    Mutation(
        "`init_transactions` comes before the changelogs are read",
        ((TaskGroup, "open", _fence_last(TaskGroup.open)),),
        TROUBLED,
    ),
    Mutation(
        "A fenced worker's transaction is not committed",
        ((Coordinator, "own", lambda self, name, epoch: self.identities[name]),),
        TROUBLED,
    ),
    Mutation(
        "A producer is reused only after its own successful commit",
        ((GroupProducer, "discard", _keeps_producer),),
        TROUBLED,
    ),
    Mutation(
        "After a commit that the client may have repeated, the group opens again under a new producer epoch",
        ((RetryWatch, "has_repeated", _calls),),
        Setup("sum", 1, 1, records=80, trouble=0.003, turns=150, late_ends=0.3),
    ),
    Mutation(
        "A table is used only if its tag matches: checkpoint and commit number",
        ((SnapshotWriter, "_fill", lambda self, stored, blocks: True),),
        Setup("sum", 5, 2, records=80, trouble=0.03, turns=200),
    ),
    Mutation(
        "A snapshot is not used if it is older than half of the changelogs' delete.retention.ms",
        (
            (Coverage, "is_too_old", lambda self: False),
            (Tail, "may_lack_deletes", property(lambda self: False)),
        ),
        Setup("windows", 5, 2, records=80, trouble=0.03, turns=200),
    ),
    Mutation(
        "A repartition topic is deleted only up to its reader's committed position",
        ((GroupSurroundings, "purge", _purges_everything(GroupSurroundings.purge)),),
        Setup("chain", 5, 2, records=80, trouble=0.01, turns=200),
    ),
    Mutation(
        "A sender counts as caught up only if it reported this recently, and since its reader's start",
        ((SenderStream, "has_caught_up", property(lambda self: True)),),
        Setup("rated", 4, 4, 2, records=80, waves=3, trouble=0.02),
    ),
    Mutation(
        "The driver checks unread records before any task sends records of edited formats",
        ((record_formats, "refuse_misread", lambda *_: None),),
        Setup("windows", 2, 2, 2, records=120, trouble=0.001, turns=200, formats=20),
    ),
    Mutation(
        "The driver checks all partitions of a topic, including those of groups that the previous version did not open",
        ((record_formats, "readings_of_edited", _of_opened_groups),),
        Setup("windows", 2, 2, 2, records=120, trouble=0.001, turns=200, formats=20),
    ),
)


@contextmanager
def broken(mutation: Mutation) -> Iterator[None]:
    """Apply a mutation within the context."""
    originals = [(owner, name, owner.__dict__[name]) for owner, name, _ in mutation.replaced]
    try:
        for owner, name, replacement in mutation.replaced:
            setattr(owner, name, replacement)
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def seeds_until_noticed(mutation: Mutation, most: int = MOST_SEEDS) -> int | None:
    """Return the number of seeds until a run shows that the rule is broken, or None if no run does."""
    with broken(mutation):
        for seed in range(most):
            if _first_fault(mutation.setup, seed):
                return seed + 1
    return None


def _first_fault(setup: Setup, seed: int) -> str:
    try:
        return next(iter(faults(setup, seed)[1]), "")
    except (AttributeError, NameError, TypeError):  # the mutation itself is wrong
        raise
    except Exception as error:  # a job that stops has been noticed, too
        return f"{type(error).__name__}: {error}"


def main() -> None:
    """Print the table."""
    logging.disable(logging.CRITICAL)
    print("| broken rule | seeds until noticed | first fault |", "|---|---|---|", sep="\n")
    for mutation in MUTATIONS:
        seeds = seeds_until_noticed(mutation)
        fault = "none"
        if seeds is not None:
            with broken(mutation):
                fault = _first_fault(mutation.setup, seeds - 1)
        print(f"| {mutation.rule} | {seeds or f'not in {MOST_SEEDS}'} | {fault[:90]} |", flush=True)


if __name__ == "__main__":
    main()
