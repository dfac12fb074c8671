"""How a service's job.py says what it is made of."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forebay.formats import TEXT, Format, avro, contract_of
from forebay.mistakes import Mistake, mistake
from forebay.plugins import package_of
from forebay.processor.api import AnyProcessor, Processor
from forebay.processor.declared import NoNewInstance, missing_methods, new_instance

_LINE = "JOB = Job(inputs={...}, outputs={...}, settings=..., processor=...)"

Matched = Mapping[str, Sequence[str]]
"""Topics by the pattern that they match."""

_matched: dict[str, Matched] = {}
"""The topics that the patterns of a job's module match in this process."""

Logic = Callable[[Any], AnyProcessor]
"""Makes a processor from the service's settings: a new one in each call, since each task needs its own."""


class NewInEachCall:
    """Logic that is known to make a new processor in each call. Other functions are called twice to find out."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A later processor of a job that is a chain: its records arrive repartitioned by the key they were forwarded with.

    Args:
        name: as given to `ctx.forward(to=...)` by the stage before.
        record: what arrives; its contract has the class name.
        processor: makes its logic.
    """

    name: str
    record: type[Any]
    processor: Logic


class TopicFormat(NamedTuple):
    """How a topic's (or repartition's) keys and values are written.

    Args:
        value: None: Avro, by the contract of the record's class name.
    """

    key: Format[Any] = TEXT
    value: Format[Any] | None = None


@dataclass(frozen=True, slots=True)
class SubTopology:
    """A part of a job that runs as tasks of its own: one processor, fed by topics and by repartitions.

    Args:
        name: "" for the first.
        processor: makes its logic.
        inputs: record type by external topic that it reads itself.
        repartitions: record type by name of each repartition that it reads.
        sends: names of the repartitions that it forwards to.
        tables: inputs in which a record without value deletes its key, and repartitions that are kept as tables: of
            records of one time theirs come first.
        nullable: inputs and repartitions whose records may have neither key nor value.
        global_tables: inputs of which every task reads every partition; their records move no time.
        state_name: what its state is known by, if that is not one of its inputs' names.
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
        """The name of its positions, timers and senders. It does not depend on the order of declarations.

        It is the first of its repartitions, or else of its topics, in alphabetical order.
        """
        # Several sub-topologies may read the same global table, so its name identifies none of them.
        own = self.inputs.keys() - self.global_tables
        return self.state_name or min(self.repartitions or own or self.inputs, default=self.name)


@dataclass(frozen=True, slots=True)
class Job:
    """The wiring of one service. Contracts have the records' class names.

    Args:
        inputs: record type by input topic.
        outputs: record type by output topic; the first is where a sub-topology without repartitions forwards to by
            default.
        settings: frozen dataclass of the logic's settings, all with defaults.
        processor: makes the logic that reads the inputs.
        then: the stages behind it, in order, each behind a repartition topic.
        tables: inputs that are read as tables, to be looked up: of records of one time theirs are processed first, and
            one without value deletes its key (see Processor.removed; in other inputs it can't be used).
        table_outputs: outputs that hold a table's rows: `emit: latest` sends the last row of a key alone.
        cached_outputs: those of which a store's cache sends only the last row of a key, regardless of `emit`.
        graph: the sub-topologies of a job that is no chain, each after those that send to it.
        formats: of topics and repartitions whose keys are no text or whose values are not Avro.
        read_formats: of topics that the job also writes, in a format that this one reads.
        patterns: contracts of the records ("": none is needed) of topics that are read because they match, by pattern.
        program: of a job that is written in SQL, gives its program (forebay.sql.program.Program).
        matched: gives the job with the topics that match its patterns among its inputs.

    Raises:
        ValueError: a table is no input, the graph is none, a processor's class lacks what it has to define, or its
            function returns one processor for all tasks.
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
            raise ValueError(f"tables {', '.join(unknown)} are no inputs: choose from {', '.join(self.inputs)}")
        if self.graph and self.then:
            raise ValueError("a job is a chain (then=) or a graph (graph=): give one of them")
        _check_order(self.graph)
        for part in self.topology:
            _check_made(part, self.settings)

    @property
    def topology(self) -> tuple[SubTopology, ...]:
        """The sub-topologies, each after those that send to it."""
        return self.graph or _chain(self)

    def sub_topology(self, name: str) -> SubTopology:
        """Return the sub-topology of a name. Raises KeyError."""
        for sub_topology in self.topology:
            if sub_topology.name == name:
                return sub_topology
        raise KeyError(
            f"there is no sub-topology {name!r}: choose from {[sub_topology.name for sub_topology in self.topology]}"
        )

    def senders(self, repartition: str) -> tuple[SubTopology, ...]:
        """Return the sub-topologies that send to a repartition."""
        return tuple(sub_topology for sub_topology in self.topology if repartition in sub_topology.sends)

    def reported_elsewhere(self, part: int, task: int) -> frozenset[str]:
        """Return the global tables' topics whose failed records another task reports: the first that reads them."""
        tables = self.topology[part].global_tables
        return (
            tables if task else tables & frozenset().union(*(before.global_tables for before in self.topology[:part]))
        )

    def format_of(self, name: str) -> TopicFormat:
        """Return the format that a topic or repartition is written in."""
        return self.formats.get(name, TopicFormat())

    def read_format_of(self, name: str) -> TopicFormat:
        """Return the format that an input or repartition is read in."""
        return self.read_formats.get(name) or self.format_of(name)

    def contract(self, name: str, record: type[Any]) -> str:
        """Return the contract of a topic's or repartition's records; "" where their format needs none."""
        return contract_of(self.format_of(name).value or avro(record))

    def logic(self, stage: int) -> Logic:
        """Return what makes the processor of a stage; 0 reads the inputs."""
        return self.topology[stage].processor


def _chain(job: Job) -> tuple[SubTopology, ...]:
    sends = [frozenset({stage.name}) for stage in job.then] + [frozenset[str]()]
    first = SubTopology("", job.processor, job.inputs, sends=sends[0], tables=job.tables)
    later = (
        SubTopology(stage.name, stage.processor, {}, {stage.name: stage.record}, onward)
        for stage, onward in zip(job.then, sends[1:], strict=True)
    )
    return (first, *later)


def _check_made(part: SubTopology, settings: type[Any]) -> None:
    """Refuse logic that can't be made, or that would be shared by tasks. Raises ValueError."""
    logic: Any = part.processor
    missing = missing_methods(logic)
    if missing:
        name = getattr(logic, "__qualname__", logic)
        raise ValueError(f"the processor {name} of {logic.__module__} lacks {missing}: define it there")
    if logic is None or isinstance(logic, (type, NewInEachCall)):
        return
    try:
        new_instance(logic, Processor, settings())
    except NoNewInstance as error:
        where = f"the sub-topology {part.name!r}" if part.name else "the job's processor"
        raise ValueError(f"{where}: {error}") from None


def _check_order(graph: tuple[SubTopology, ...]) -> None:
    known: set[str] = set()
    for part in graph:
        missing = sorted(part.repartitions.keys() - known)
        if missing:
            raise ValueError(
                f"the sub-topology {part.name!r} reads {', '.join(missing)}, which none before it sends: "
                "put those that send to it before it; they can't send to each other in a circle"
            )
        known |= part.sends
    names = [part.identity for part in graph]
    # Two sub-topologies of one identity would overwrite each other's positions in the changelog.
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"two sub-topologies of the job read {', '.join(twice)} first: positions are known by it. Read each topic "
            "in one sub-topology and repartition it for the other, or give them names: state_name="
        )


def global_tables(job: Job) -> frozenset[str]:
    """Return the inputs that every task reads whole."""
    return frozenset(topic for part in job.topology for topic in part.global_tables)


def load_job(module: str) -> Job:
    """Import a service's job.py.

    Raises:
        Mistake: it raises, or has no JOB; says where and what to write.
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
    """Return whether a job answers queries in SQL: it is written in SQL, or consists of views."""
    return job.program is not None or bool(plans_of(job))


def match_topics(module: str, found: Matched) -> None:
    """Have the job of a module read these topics by its patterns from now on, in this process."""
    _matched[module] = found


def matched_topics(module: str) -> Matched:
    """Return the topics that the patterns of a module's job match in this process."""
    return _matched.get(module, {})
