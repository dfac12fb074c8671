"""One stage of a job under test: as many engines as it has tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay.catalog import Service
from forebay.job import Job
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
from forebay.processor.handover import by_task, handed
from forebay.processor.messages import Message
from forebay.serde import local_codec
from forebay.stores.table import MemoryTable


class StageTasks:
    """The tasks of one stage, each with its engine and table.

    Args:
        number: 0 reads the inputs.
        settings: of the logic.
    """

    def __init__(
        self, service: Service, job: Job, number: int, settings: Any, tasks: int, engine: EngineSettings
    ) -> None:
        self.codecs = stage_codecs(service, job, number, settings)
        self.name = job.then[number - 1].name if number else ""
        self.tasks = tasks
        self.processors = [job.logic(number)(settings) for _ in range(tasks)]
        self.tables = [MemoryTable() for _ in range(tasks)]
        self.engines = [
            TaskEngine(processor, self.codecs, table, engine)
            for processor, table in zip(self.processors, self.tables, strict=True)
        ]

    def run(
        self, streams: Sequence[Sequence[Sequence[Message]]], clock: int, idle_ms: int, batch: int
    ) -> list[BatchResult]:
        """Run a batch; `streams` by task, one per input partition."""
        results = []
        for task, engine in enumerate(self.engines):

            def attempt(encoding: StateEncoding, task: int = task, engine: TaskEngine = engine) -> BatchResult:
                engine.run(streams[task], clock, encoding)
                if not any(streams[task]):
                    engine.tick(idle_ms, clock)
                    interval = engine.processor.wall_clock_interval_ms
                    if 0 < interval <= idle_ms:
                        engine.punctuate(clock)
                return engine.finish(batch)

            result = compute(f"task {task}", engine, attempt)
            self.tables[task].apply(result.changes, str(batch).encode())
            engine.settle(batch)
            results.append(result)
        return results

    def after(self, results: Sequence[BatchResult], name: str) -> list[list[list[Message]]]:
        """Give what each task of the next stage, `name`, is handed: one stream per task of this one."""
        partitioner = Partitioner(self.tasks)
        streams: list[list[list[Message]]] = [[] for _ in range(self.tasks)]
        for source, result in enumerate(results):
            for task, block in enumerate(by_task(result.onward, partitioner)):
                records = [(output.key, output.value, output.timestamp) for output in block]
                streams[task].append(list(handed(name, source, records)))
        return streams

    def restart(self) -> None:
        """Have every engine start over from its table."""
        for engine in self.engines:
            engine.load(engine.position)

    def positions(self) -> list[Position]:
        """Give the time of each task."""
        return [engine.position for engine in self.engines]

    def store(self, name: str) -> list[Any] | None:
        """Give what a store's tasks hold, one after the other; None where this stage has no such store."""
        found = [
            store for processor in self.processors for _, store in declared_stores(processor) if store.name == name
        ]
        return [entry for store in found for entry in store.all()] if found else None  # type: ignore[attr-defined]


def stage_codecs(service: Service, job: Job, stage: int, settings: Any) -> Codecs:
    """Give the codecs of a stage, without a registry."""
    following = job.after(stage)
    here = {job.then[stage - 1].name: job.then[stage - 1].record} if stage else job.inputs
    return Codecs(
        inputs={name: local_codec(service.name, record) for name, record in here.items()},
        stores={
            store.name: local_codec(service.name, store.value)
            for _, store in declared_stores(job.logic(stage)(settings))
        },
        outputs={topic: local_codec(service.name, record) for topic, record in job.outputs.items()},
        repartitions={} if following is None else {following.name: local_codec(service.name, following.record)},
        tables=frozenset() if stage else job.tables,
        handed=frozenset(here) if stage else frozenset(),
    )
