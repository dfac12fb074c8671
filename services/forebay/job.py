"""How a service's job.py says what it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay.processor.api import AnyProcessor

Logic = Callable[[Any], AnyProcessor]
"""Makes a processor from the service's settings."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A later processor of a job: its records arrive repartitioned by the key they were forwarded with.

    Args:
        name: as given to `ctx.forward(to=...)` by the stage before.
        record: what arrives; its contract has the class name.
        processor: makes its logic.
    """

    name: str
    record: type[Any]
    processor: Logic


@dataclass(frozen=True, slots=True)
class SubTopology:
    """A part of a job that one task runs as a whole; parts are joined by repartition topics.

    Args:
        name: "" for the first.
        inputs: record type by external topic it reads itself.
        repartitions: record type by name of the repartition it reads.
        sends: names of the repartitions it forwards to.
        tables: inputs in which a record without value deletes its key.
    """

    name: str
    processor: Logic
    inputs: Mapping[str, type[Any]] = field(default_factory=dict)
    repartitions: Mapping[str, type[Any]] = field(default_factory=dict)
    sends: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Job:
    """The wiring of one service. Contracts have the records' class names.

    Args:
        inputs: record type by input topic.
        outputs: record type by output topic; the first is where the last stage forwards to by default.
        settings: frozen dataclass of the logic's settings, all with defaults.
        processor: makes the logic that reads the inputs.
        then: the stages behind it, in order, each behind a repartition topic.
        tables: inputs that are read as tables, to be looked up: of records of one time theirs are processed first, and
            one without value deletes its key (see Processor.removed; in other inputs it can't be used).

    Raises:
        ValueError: a table is no input.
    """

    inputs: Mapping[str, type[Any]]
    outputs: Mapping[str, type[Any]]
    settings: type[Any]
    processor: Logic
    then: tuple[Stage, ...] = ()
    tables: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.tables - self.inputs.keys())
        if unknown:
            raise ValueError(f"tables {', '.join(unknown)} are no inputs: choose from {', '.join(self.inputs)}")

    @property
    def topology(self) -> tuple[SubTopology, ...]:
        """Return the sub-topologies; what one forwards is read by later ones only."""
        names = [stage.name for stage in self.then]
        sends = [frozenset({name}) for name in names] + [frozenset[str]()]
        first = SubTopology("", self.processor, inputs=self.inputs, sends=sends[0], tables=self.tables)
        later = (
            SubTopology(stage.name, stage.processor, repartitions={stage.name: stage.record}, sends=sends[number])
            for number, stage in enumerate(self.then, 1)
        )
        return (first, *later)

    def senders(self, repartition: str) -> tuple[int, ...]:
        """Return the numbers of the sub-topologies that forward to a repartition."""
        return tuple(number for number, part in enumerate(self.topology) if repartition in part.sends)

    def logic(self, stage: int) -> Logic:
        """Give what makes the processor of a stage; 0 reads the inputs."""
        return self.then[stage - 1].processor if stage else self.processor

    def after(self, stage: int) -> Stage | None:
        """Give the stage behind `stage`, if there is one."""
        return self.then[stage] if stage < len(self.then) else None


def load_job(module: str) -> Job:
    """Import a service's job.py."""
    job = importlib.import_module(module).JOB
    assert isinstance(job, Job)
    return job
