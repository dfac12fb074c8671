"""Compilation of definitions to a job, of which each task builds its own topology and functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forebay.builder import Topology, job
from forebay.builder.nodes import TopologyError
from forebay.job import Job
from forebay.ksml.build import Build
from forebay.ksml.definition import Definition
from forebay.ksml.errors import KsmlError, Problem
from forebay.ksml.formats import Formats
from forebay.ksml.functions import Functions
from forebay.ksml.metrics import Metrics
from forebay.ksml.pipelines import Pipelines
from forebay.ksml.schemas import SchemaFiles
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY, REGISTERED, Type
from forebay.ksml.watch import Watch


@dataclass(frozen=True, slots=True)
class KsmlSettings:
    """Settings of a job of definitions.

    Args:
        function_time_limit_ms: longest time of a function's call; the records of longer calls go to `.errors`.
            0: no limit.
    """

    function_time_limit_ms: int = 10_000


class Definitions(NamedTuple):
    """The definitions of a job.

    Args:
        by_key: whether records whose key changed are repartitioned before a function that uses stores.
    """

    files: tuple[Definition, ...]
    formats: Formats
    by_key: bool = True


def definitions(files: Sequence[Definition], schemas: SchemaFiles) -> Definitions:
    """Return definitions with the formats of their types, which all their topologies share."""
    return Definitions(tuple(files), Formats(schemas, subjects_of(files)))


def subjects_of(files: Sequence[Definition]) -> dict[Type, tuple[str, ...]]:
    """Return the registry's subjects of the definitions' topics, by type."""
    results: dict[Type, dict[str, None]] = {}
    for definition in files:
        for node in definition.root.walk():
            topic = node.string("topic")
            for key, side in (("keyType", "key"), ("valueType", "value")) if topic else ():
                kind = read_type(node, key, ANY)
                # Avro values are registered with the contracts of their topics, like those of any service.
                if kind.notation in REGISTERED and (side == "key" or kind.notation != "avro"):
                    results.setdefault(kind, {})[f"{topic}-{side}"] = None
    return {kind: tuple(subjects) for kind, subjects in results.items()}


def topology_of(made: Definitions, settings: KsmlSettings) -> Topology:
    """Return the topology of definitions. Raises KsmlError."""
    topology = Topology()
    metrics: list[Metrics] = []
    for definition in made.files:
        watch = Watch(settings.function_time_limit_ms)
        functions = Functions(definition.namespace, definition.sources(), watch)
        Pipelines(Build(definition, topology, made.formats, functions, by_key=made.by_key)).make()
        metrics.append(functions.metrics)
    topology.figures = lambda: {name: value for metric in metrics for name, value in metric.sums().items()}
    return topology


def job_of(made: Definitions) -> Job:
    """Return the job that runs definitions. Raises KsmlError."""
    if not any(definition.section("pipelines") for definition in made.files):
        first = made.files[0]
        raise KsmlError([Problem(first.file, 1, "there is no pipeline to run: write one under pipelines:")])
    try:
        return _job(made)
    except TopologyError as error:
        where, _, message = str(error).partition(": ")
        file, _, line = where.rpartition(":")
        raise KsmlError([Problem(file or made.files[0].file, int(line) if line.isdigit() else 1, message)]) from error


def _job(made: Definitions) -> Job:
    """Return the job. A store that is used before and after a change of keys stays in the tasks of the former keys."""
    try:
        return job(KsmlSettings, lambda settings: topology_of(made, settings), may_end=True)
    except TopologyError:
        if not made.by_key:
            raise
    # Repartitioning before each function with stores may put one store into two sub-topologies. Without it, the store
    # stays with the former keys, as in KSML.
    alone = made._replace(by_key=False)
    return job(KsmlSettings, lambda settings: topology_of(alone, settings), may_end=True)
