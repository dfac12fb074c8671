"""One sub-topology of a job under test: as many engines as it has tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.job import Job, SubTopology
from forebay.partitioner import Partitioner
from forebay.processor.attempts import compute
from forebay.processor.engine import (
    BatchResult,
    Codecs,
    EngineSettings,
    Position,
    StateEncoding,
    TaskEngine,
    declared_stores,
)
from forebay.processor.handover import HandedRecord
from forebay.processor.messages import Message, Output
from forebay.stores.binding import Store
from forebay.stores.materialized import purge, unlogged
from forebay.stores.table import MemoryTable
from forebay.wiring import Contract, task_codecs

Crossing = dict[tuple[str, int], list[Output]]
"""What a sub-topology sends to repartitions, by repartition and sending task."""


class StageTasks:
    """The tasks of one sub-topology, each with its engine and table.

    Args:
        settings: of the logic.
        contract: gives the codecs of what has a contract.
        clock: wall clock (ms) as the tasks begin, for wall-clock punctuation.
        codecs: of a processor that is in no job; None: those that the job says.
    """

    def __init__(
        self,
        job: Job,
        part: SubTopology,
        settings: Any,
        tasks: int,
        engine: EngineSettings,
        contract: Contract,
        clock: int = 0,
        codecs: Codecs | None = None,
    ) -> None:
        self.part = part
        self.tasks = tasks
        self.processors = [part.processor(settings) for _ in range(tasks)]
        self.codecs = codecs or task_codecs(job, part, self.processors[0], contract, contract, contract)
        self._punctuated_at = clock
        self.tables = [MemoryTable() for _ in range(tasks)]
        self.engines = [
            TaskEngine(processor, self.codecs, table, engine)
            for processor, table in zip(self.processors, self.tables, strict=True)
        ]

    @property
    def name(self) -> str:
        """Name of the sub-topology."""
        return self.part.name

    def run(
        self,
        streams: Sequence[Sequence[Sequence[Message]]],
        clock: int,
        idle_ms: int,
        batch: int,
        close_until: int = -1,
    ) -> list[BatchResult]:
        """Run a batch; `streams` by task, one per input partition and per sender of a repartition.

        Args:
            close_until: what the closing time is moved on to (ms); -1: nothing.
        """
        results = []
        interval = self.processors[0].wall_clock_interval_ms
        punctuates = 0 < interval <= clock - self._punctuated_at
        if punctuates:
            self._punctuated_at = clock
        for task, engine in enumerate(self.engines):

            def attempt(encoding: StateEncoding, task: int = task, engine: TaskEngine = engine) -> BatchResult:
                engine.run(streams[task], clock, encoding)
                if punctuates:
                    engine.punctuate(clock)
                if close_until >= 0:
                    engine.close(close_until, clock)
                if not any(streams[task]):
                    engine.tick(idle_ms, clock)
                return engine.finish(batch)

            result = compute(f"task {task}", engine, attempt)
            self.tables[task].apply(result.changes, str(batch).encode())
            engine.settle(batch)
            results.append(result)
        return results

    def streams(
        self, arrived: Mapping[tuple[str, int], list[Message]], crossing: Crossing
    ) -> list[list[list[Message]]]:
        """Return each task its streams: those of input partitions, then those of repartitions by sender.

        Args:
            arrived: records by topic and partition.
        """
        streams: list[list[list[Message]]] = [[] for _ in range(self.tasks)]
        for (topic, partition), records in sorted(arrived.items()):
            if topic in self.part.global_tables:
                for each in streams:
                    each.append(records)
            elif topic in self.part.inputs:
                streams[partition % self.tasks].append(records)
        partitioner = Partitioner(self.tasks)
        for (name, sender), outputs in sorted(crossing.items()):
            if name in self.part.repartitions:
                handed: list[list[Message]] = [[] for _ in range(self.tasks)]
                for offset, sent in enumerate(outputs):
                    record = HandedRecord(name, sender, offset, sent.key, sent.value, sent.timestamp, sent.headers)
                    chosen = sent.partition
                    handed[partitioner(sent.key or b"") if chosen is None else chosen % self.tasks].append(record)
                for task, records in enumerate(handed):
                    streams[task].append(records)
        return streams

    def restart(self) -> None:
        """Have every engine start over from its table."""
        for engine, table, processor in zip(self.engines, self.tables, self.processors, strict=True):
            purge(table, unlogged(store for _, store in declared_stores(processor)))
            engine.load(engine.position)

    def positions(self) -> list[Position]:
        """Return the time of each task."""
        return [engine.position for engine in self.engines]

    @property
    def declared(self) -> list[Store[Any]]:
        """Return the stores of one task."""
        return [store for _, store in declared_stores(self.processors[0])]

    def stores(self, name: str) -> list[Store[Any]]:
        """Return each task's store of a name; none where there is no such store."""
        return [s for processor in self.processors for _, s in declared_stores(processor) if s.name == name]

    def keys_of(self, name: str) -> Callable[[str], Any]:
        """Return what makes a key of its text in a store."""
        processor = self.processors[0]
        return processor.keys_of(name) if isinstance(processor, CompiledSubTopology) else str


def crossing_of(results: Iterable[BatchResult]) -> Crossing:
    """Return what the tasks of a sub-topology send to repartitions."""
    crossing: Crossing = {}
    for task, result in enumerate(results):
        for output in result.onward:
            crossing.setdefault((output.target, task), []).append(output)
    return crossing
