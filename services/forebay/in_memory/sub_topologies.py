"""One sub-topology of a job under test: as many tasks as it has."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.job import Job
from forebay.processor.api import AnyProcessor
from forebay.processor.batch import Position
from forebay.processor.codecs import Codecs
from forebay.processor.declared import declared_stores
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.figures import TaskFigures
from forebay.runtime.task.reads import repartition_topics
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.service.wiring import Contract, task_codecs
from forebay.stores.binding import Store
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Table

_TELLING_SECONDS = 0.0005
"""A job's idle tasks announce their time once a second, to send little; here downstream tasks see each ms."""


class NoFigures(TaskFigures):
    """Counts nothing: nothing reads the statistics, and each record is a commit of its own."""

    def took(self, commit: TaskCommit, table: Table, engine: TaskEngine) -> None:
        return

    def time_phase(self, phase: str) -> nullcontext[None]:  # type: ignore[override]
        return _UNTIMED


_UNTIMED = nullcontext()


class SubTopologyTasks:
    """The tasks of one sub-topology.

    Args:
        number: of the sub-topology.
        settings: of the logic.
        tasks: their number.
        contract: gives the codecs of what has a contract.
        monotonic: seconds that have passed.
        codecs: of a processor that is in no job; None: those that the job says.
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
        """Recreate every task with an empty table, as a new process does."""
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
        """Return the time of each task."""
        return [task.engine.position for task in self.state_tasks]

    @property
    def declared(self) -> list[Store[Any]]:
        """Return the stores of one task."""
        return [store for _, store in declared_stores(self.processors[0])]

    def stores(self, name: str) -> list[Store[Any]]:
        """Return each task's store of a name; empty: there is no such store."""
        return [s for processor in self.processors for _, s in declared_stores(processor) if s.name == name]

    def keys_of(self, name: str) -> Callable[[str], Any]:
        """Return what makes a key of its text in a store."""
        processor = self.processors[0]
        return processor.keys_of(name) if isinstance(processor, CompiledSubTopology) else str
