"""The definition of a job: its topics, sub-topologies, formats and settings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forebay.formats import TEXT, Format, avro, contract_of
from forebay.processor.api import AnyProcessor, Processor
from forebay.processor.bound_stores import NoNewInstance, missing_methods, new_instance
from forebay.service.mistakes import Mistake, mistake
from forebay.service.plugins import package_of

_LINE = "JOB = Job(inputs={...}, outputs={...}, settings=..., processor=...)"

Matched = Mapping[str, Sequence[str]]
"""Topics by the pattern that they match."""

_matched: dict[str, Matched] = {}
"""The topics that the patterns of a job's module match in this process."""

Logic = Callable[[Any], AnyProcessor]
"""Creates a processor from the service's settings: a new one in each call, because each task needs its own."""


class NewInEachCall:
    """Logic that creates a new processor in each call. Any other function is called twice to check this."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A later sub-topology of a chain of processors. Its records are repartitioned by the key of `ctx.forward`.

    Args:
        name: Name by which the previous processor forwards to it, as in `ctx.forward(to=name)`.
        record: Class of the records that it reads. The contract has the name of the class.
        processor: Function that creates its processor.
    """

    name: str
    record: type[Any]
    processor: Logic


class TopicFormat(NamedTuple):
    """Formats of the keys and values of a topic or repartition.

    Args:
        key: Format of the keys.
        value: Format of the values. None: Avro, with the contract that has the name of the record class.
    """

    key: Format[Any] = TEXT
    value: Format[Any] | None = None


@dataclass(frozen=True, slots=True)
class SubTopology:
    """A part of a job with its own tasks: one processor that reads topics and repartitions.

    Args:
        name: Name of the sub-topology; "" for the first one.
        processor: Function that creates the processor.
        inputs: Record type of each input topic.
        repartitions: Record type of each repartition that it reads.
        sends: Names of the repartitions that it forwards to.
        tables: Inputs and repartitions that are tables. A record without a value deletes its key. At equal timestamps,
            records of tables are processed first.
        nullable: Inputs and repartitions whose records may have no key or no value.
        global_tables: Inputs that every task reads completely. Their records do not advance stream time.
        state_name: Name that identifies its state. By default, the name of one of its inputs.
    """

    name: str
    processor: Logic
    inputs: Mapping[str, type[Any]]
    repartitions: Mapping[str, type[Any]] = field(default_factory=dict)
    sends: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()
    global_tables: frozenset[str] = frozenset()
    state_name: str = ""

    @property
    def identity(self) -> str:
        """Name that identifies the sub-topology's positions, timers and senders.

        It does not depend on the order of declarations. By default, it is the alphabetically first name of its
        repartitions or, if it has none, of its topics.
        """
        # Several sub-topologies may read the same global table, so its name identifies none of them.
        own = self.inputs.keys() - self.global_tables
        return self.state_name or min(self.repartitions or own or self.inputs, default=self.name)


@dataclass(frozen=True, slots=True)
class Job:
    """The topics, processors and settings of a service. A record's contract has the name of the record's class.

    Args:
        inputs: Record type of each input topic.
        outputs: Record type of each output topic. A sub-topology without repartitions forwards to the first one by
            default.
        settings: Frozen dataclass of the logic's settings. Every setting has a default.
        processor: Class of the processor that reads the inputs, or a function of the settings that creates it.
        then: Later sub-topologies of a chain, in order. A repartition topic precedes each of them.
        tables: Inputs that are tables. A record without a value deletes its key (see Processor.on_delete); in other
            inputs it goes to `.errors`. At equal timestamps, records of tables are processed first.
        table_outputs: Outputs that hold the rows of a table. With `emit: latest`, a commit sends only the last row of
            each key.
        cached_outputs: Outputs for which a commit sends only the last row of each key, regardless of `emit`.
        graph: Sub-topologies of a job that is not a chain. A sub-topology comes after those that send to it.
        formats: Formats of topics and repartitions whose keys are not text or whose values are not Avro.
        read_formats: Formats in which topics are read that the job writes in another format.
        patterns: Contract of the records of topics that are read by pattern, by pattern. "": no contract is needed.
        program: Function that returns the program of a job in SQL (forebay.sql.program.Program).
        matched: Function that returns the job with the topics that match its patterns as inputs.

    Raises:
        ValueError: A name in `tables` is not an input, the graph is invalid, a processor class lacks a required
            method, or a function returns the same processor for all tasks.
    """

    inputs: Mapping[str, type[Any]]
    outputs: Mapping[str, type[Any]]
    settings: type[Any]
    processor: Logic
    then: tuple[Stage, ...] = ()
    tables: frozenset[str] = frozenset()
    table_outputs: frozenset[str] = frozenset()
    cached_outputs: frozenset[str] = frozenset()
    graph: tuple[SubTopology, ...] = ()
    formats: Mapping[str, TopicFormat] = field(default_factory=dict)
    read_formats: Mapping[str, TopicFormat] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)
    program: Callable[[], Any] | None = None
    matched: Callable[[Matched], Job] | None = None

    def __post_init__(self) -> None:
        unknown = sorted(self.tables - self.inputs.keys())
        if unknown:
            raise ValueError(f"tables {', '.join(unknown)} are not inputs: choose from {', '.join(self.inputs)}")
        if self.graph and self.then:
            raise ValueError("then= and graph= exclude each other: pass only one of them")
        _check_order(self.graph)
        for sub_topology in self.topology:
            _check_made(sub_topology, self.settings)

    @property
    def topology(self) -> tuple[SubTopology, ...]:
        """All sub-topologies. A sub-topology comes after those that send to it."""
        return self.graph or _chain(self)

    def sub_topology(self, name: str) -> SubTopology:
        """Return the sub-topology with this name. Raise KeyError if the job has no such sub-topology."""
        for sub_topology in self.topology:
            if sub_topology.name == name:
                return sub_topology
        raise KeyError(
            f"there is no sub-topology {name!r}: choose from {[sub_topology.name for sub_topology in self.topology]}"
        )

    def senders(self, repartition: str) -> tuple[SubTopology, ...]:
        """Return the sub-topologies that send to a repartition."""
        return tuple(sub_topology for sub_topology in self.topology if repartition in sub_topology.sends)

    def reported_elsewhere(self, sub_topology: int, task: int) -> frozenset[str]:
        """Return the global tables' topics whose failed records another task reports.

        Every task reads these topics. Only task 0 of the first sub-topology that reads a topic reports its failures.
        """
        tables = self.topology[sub_topology].global_tables
        return (
            tables
            if task
            else tables & frozenset().union(*(before.global_tables for before in self.topology[:sub_topology]))
        )

    def format_of(self, name: str) -> TopicFormat:
        """Return the format in which a topic or repartition is written."""
        return self.formats.get(name, TopicFormat())

    def read_format_of(self, name: str) -> TopicFormat:
        """Return the format in which an input or repartition is read."""
        return self.read_formats.get(name) or self.format_of(name)

    def contract(self, name: str, record: type[Any]) -> str:
        """Return the name of the contract of a topic or repartition; "" if its format needs no contract."""
        return contract_of(self.format_of(name).value or avro(record))

    def logic(self, stage: int) -> Logic:
        """Return the function that creates the processor of a sub-topology, by its number."""
        return self.topology[stage].processor


def _chain(job: Job) -> tuple[SubTopology, ...]:
    sends = [frozenset({stage.name}) for stage in job.then] + [frozenset[str]()]
    first = SubTopology("", job.processor, job.inputs, sends=sends[0], tables=job.tables)
    later = (
        SubTopology(stage.name, stage.processor, {}, {stage.name: stage.record}, onward)
        for stage, onward in zip(job.then, sends[1:], strict=True)
    )
    return (first, *later)


def _check_made(sub_topology: SubTopology, settings: type[Any]) -> None:
    """Raise ValueError if no processor can be created, or if all tasks would share one."""
    logic: Any = sub_topology.processor
    missing = missing_methods(logic)
    if missing:
        name = getattr(logic, "__qualname__", logic)
        raise ValueError(f"the processor {name} of {logic.__module__} lacks {missing}: define it there")
    if logic is None or isinstance(logic, (type, NewInEachCall)):
        return
    try:
        new_instance(logic, Processor, settings())
    except NoNewInstance as error:
        where = f"the sub-topology {sub_topology.name!r}" if sub_topology.name else "the job's processor"
        raise ValueError(f"{where}: {error}") from None


def _check_order(graph: tuple[SubTopology, ...]) -> None:
    known: set[str] = set()
    for sub_topology in graph:
        missing = sorted(sub_topology.repartitions.keys() - known)
        if missing:
            raise ValueError(
                f"the sub-topology {sub_topology.name!r} reads {', '.join(missing)}, to which no "
                "earlier sub-topology sends: put the sub-topologies that send to it first; "
                "cycles are not possible"
            )
        known |= sub_topology.sends
    names = [sub_topology.identity for sub_topology in graph]
    # Two sub-topologies with the same identity would overwrite each other's positions in the changelog.
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"two sub-topologies of the job read {', '.join(twice)} first, but positions are "
            "identified by the first topic. Read each topic in one sub-topology and "
            "repartition it for the other, or set different names with state_name="
        )


def global_tables(job: Job) -> frozenset[str]:
    """Return the inputs that every task reads completely."""
    return frozenset(topic for sub_topology in job.topology for topic in sub_topology.global_tables)


def load_job(module: str) -> Job:
    """Import a service's job.py and return its job.

    Raises:
        Mistake: The module raises an error or has no JOB. The message names the file and says what to write.
    """
    package = package_of(module)
    try:
        job = importlib.import_module(module).JOB
    except Exception as error:
        if isinstance(error, AttributeError) and module in sys.modules:
            raise Mistake(f"{module} has no JOB: write `{_LINE}` at its end") from error
        raise mistake(error, package, f"the job {module}") from error
    if not isinstance(job, Job):
        raise Mistake(f"JOB of {module} is {type(job).__name__} {job!r:.80}: write `{_LINE}`")
    return job if job.matched is None or module not in _matched else job.matched(_matched[module])


def plans_of(job: Job) -> list[Any]:
    """Return the query plan of each output of a job that consists of SQL views; [] for other jobs."""
    plans = [getattr(record, "forebay_plan", None) for record in job.outputs.values()]
    return plans if all(plans) else []


def speaks_sql(job: Job) -> bool:
    """Return whether a job's stores can be queried in SQL, because it is written in SQL or consists of views."""
    return job.program is not None or bool(plans_of(job))


def match_topics(module: str, found: Matched) -> None:
    """Set, for this process, the topics that match the patterns of a module's job."""
    _matched[module] = found


def matched_topics(module: str) -> Matched:
    """Return the topics that the patterns of a module's job match in this process."""
    return _matched.get(module, {})
