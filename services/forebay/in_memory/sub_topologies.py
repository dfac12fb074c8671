"""The tasks of a sub-topology in memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.job import Job
from forebay.processor.api import AnyProcessor
from forebay.processor.batch import Position
from forebay.processor.bound_stores import declared_stores
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.reads import repartition_topics
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.statistics import TaskFigures
from forebay.runtime.task.task_settings import TaskSettings
from forebay.service.wiring import Contract, task_codecs
from forebay.stores.binding import Store
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Table

_TELLING_SECONDS = 0.0005
"""Interval at which idle tasks announce their time. In a job it is a second. Here, later tasks see each millisecond."""


class NoFigures(TaskFigures):
    """Statistics that count nothing, because nothing reads them and each record is a separate commit."""

    def took(self, commit: TaskCommit, table: Table, engine: TaskEngine) -> None:
        return

    def time_phase(self, phase: str) -> nullcontext[None]:  # type: ignore[override]
        return _UNTIMED


_UNTIMED = nullcontext()


class SubTopologyTasks:
    """The tasks of one sub-topology.

    Args:
        number: Number of the sub-topology.
        settings: Settings of the logic.
        tasks: Number of tasks.
        engine: Settings of the engines.
        contract: Function that returns the codec of a record type with a contract.
        monotonic: Function that returns the seconds that have passed.
        codecs: Codecs of a processor without a job. None: those that follow from the job.
    """

    def __init__(
        self,
        job: Job,
        number: int,
        settings: Any,
        tasks: int,
        engine: EngineSettings,
        contract: Contract,
        monotonic: Callable[[], float],
        codecs: Codecs | None = None,
    ) -> None:
        self.definition = job.topology[number]
        self.state_tasks: list[StateTask] = []
        self.codecs: Codecs
        self._job, self._number, self._settings = job, number, settings
        self._numbers, self._engine, self._monotonic = range(tasks), engine, monotonic
        self._contract, self._given = contract, codecs
        self.begin()

    def begin(self) -> list[StateTask]:
        """Create all tasks again with empty tables, as a new process does, and return them."""
        application = self._engine.service
        processors = [self.definition.processor(self._settings) for _ in self._numbers]
        if not self.state_tasks:
            self.codecs = self._given or self._codecs_of(processors[0])
        logged = sub_topology_log(application, self._number, processors[0])
        rows = logged.rows()
        self.state_tasks = []
        for number, processor in enumerate(processors):
            table, name = MemoryTable(), f"{application}-{self._number}-{number}"
            engine = replace(self._engine, reported_elsewhere=self._job.reported_elsewhere(self._number, number))
            self.state_tasks.append(
                StateTask(
                    TaskEngine(processor, self.codecs, table, engine),
                    table,
                    logged.router(number),
                    rows,
                    Announcer(_TELLING_SECONDS, self._monotonic),
                    TaskSettings(
                        name,
                        self._number,
                        number,
                        tuple(sorted(self.definition.sends)),
                        sub_topology=self.definition.identity,
                    ),
                    NoFigures(self._number, number),
                )
            )
        return self.state_tasks

    def _codecs_of(self, processor: AnyProcessor) -> Codecs:
        contract = self._contract
        topics = repartition_topics(self._engine.service, self._job)
        names = {topics[name]: name for name in self.definition.repartitions}
        return task_codecs(self._job, self.definition, processor, contract, contract, contract, names)

    @property
    def name(self) -> str:
        """Name of the sub-topology."""
        return self.definition.name

    @property
    def engines(self) -> list[TaskEngine]:
        """The tasks' engines."""
        return [task.engine for task in self.state_tasks]

    @property
    def processors(self) -> list[AnyProcessor]:
        """The tasks' processors."""
        return [task.engine.processor for task in self.state_tasks]

    @property
    def tables(self) -> list[Table]:
        """The tasks' tables, as of the last commit."""
        return [task.table for task in self.state_tasks]

    def positions(self) -> list[Position]:
        """Return the times of each task."""
        return [task.engine.position for task in self.state_tasks]

    @property
    def declared(self) -> list[Store[Any]]:
        """Stores of one task."""
        return [store for _, store in declared_stores(self.processors[0])]

    def stores(self, name: str) -> list[Store[Any]]:
        """Return the store with this name in each task, or an empty list if there is no such store."""
        return [s for processor in self.processors for _, s in declared_stores(processor) if s.name == name]

    def keys_of(self, name: str) -> Callable[[str], Any]:
        """Return the function that converts a row text of a store to a key."""
        processor = self.processors[0]
        return processor.keys_of(name) if isinstance(processor, CompiledSubTopology) else str
