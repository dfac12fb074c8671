"""Drives a whole service, all its stages and tasks, with the engine a job runs on: no Spark, no Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forebay.agreement import check_agreement
from forebay.catalog import find_service
from forebay.job import load_job
from forebay.limits import TaskLimits
from forebay.partitioner import partition_of
from forebay.processor.engine import EngineSettings
from forebay.processor.messages import Headers, Message
from forebay.task_limits import task_limits
from forebay.testing.driver import Failure, Forwarded, PipedRecord, failure, shown
from forebay.testing.stages import StageTasks


class JobDriver:
    """Pipes records into a service of the table and shows what it does (in the manner of TopologyTestDriver).

    Each pipe is a batch of its own. The wall clock stands far in the future, so that event times are free, unless it is
    given.

    Args:
        service: name in the table of services.
        tasks: number of state tasks.
        partitions: of every input; a multiple of the tasks; as many as tasks by default.
        settings: of the logic; its defaults unless given.
        clock: the wall clock to begin with, in ms.
        engine: fields of EngineSettings that differ from their defaults.

    Raises:
        Disagreement: the service's entry and its job say different things.
    """

    def __init__(
        self,
        service: str,
        *,
        tasks: int = 1,
        partitions: int = 0,
        settings: Any = None,
        clock: int = 1 << 52,
        **engine: Any,
    ) -> None:
        self._service = find_service(service)
        self._job = load_job(self._service.job)
        self._partitions = partitions or tasks
        self._tasks = tasks
        chosen = self._job.settings() if settings is None else settings
        check_agreement(self._service, self._job, chosen)
        how = replace(EngineSettings(service=service), **engine)
        self.stages = [
            StageTasks(self._service, self._job, number, chosen, tasks, self._limited(how, number))
            for number in range(len(self._job.then) + 1)
        ]
        self._clock = clock
        self._batch = 0
        self._idle_ms = 0
        self._offsets = 0
        self.outputs: list[Forwarded[Any]] = []
        self.errors: list[Failure] = []
        self.late: list[Failure] = []
        self.duplicates = 0

    @property
    def stream_time(self) -> int:
        """Largest event time the first stage has accepted, in ms; -1 before the first record."""
        return max(position.stream_time for position in self.stages[0].positions())

    def pipe(self, key: str, event: Any, topic: str | None = None) -> list[Forwarded[Any]]:
        """Process one record in a batch of its own; give the outputs it caused."""
        return self.run_batch([(key, event)], topic)

    def run_batch(self, records: Iterable[tuple[str, Any]], topic: str | None = None) -> list[Forwarded[Any]]:
        """Process (key, event) records of one topic in one batch; give the outputs they caused."""
        source = topic or next(iter(self._job.inputs))
        encode = self.stages[0].codecs.inputs[source].encode
        timestamp_of = self.stages[0].processors[0].timestamp
        return self._run([self._record(source, k.encode(), encode(e), timestamp_of(e), []) for k, e in records])

    def pipe_bytes(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        topic: str | None = None,
        headers: Headers | None = None,
    ) -> list[Forwarded[Any]]:
        """Process one record given as bytes (`timestamp`: the Kafka record's, ms); give the outputs it caused."""
        source = topic or next(iter(self._job.inputs))
        return self._run([self._record(source, key, value, timestamp, headers or [])])

    def advance_wall_time(self, ms: int) -> list[Forwarded[Any]]:
        """Let `ms` pass without any record: idle topics; give the outputs it caused."""
        self._clock += ms
        self._idle_ms += ms
        return self._run([])

    def store(self, name: str) -> Any:
        """Give what a store holds, over all tasks: by key for key-value kinds, else the list of its entries."""
        for stage in self.stages:
            entries = stage.store(name)
            if entries is not None:
                plain = all(type(entry) is tuple for entry in entries)
                return dict(sorted(entries)) if plain else entries
        raise KeyError(f"{self._service.name} has no store {name!r}")

    def restart(self) -> None:
        """Start over from the committed tables, as tasks do in a new process."""
        for stage in self.stages:
            stage.restart()

    def _limited(self, engine: EngineSettings, stage: int) -> EngineSettings:
        """Return the settings with what the topics take as they are created, unless others are given."""
        if engine.limits != TaskLimits():
            return engine
        return replace(engine, limits=task_limits(self._service, stage=stage))

    def _record(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> PipedRecord:
        self._offsets += 1
        return PipedRecord(topic, self._offsets - 1, key, value, timestamp, headers)

    def _run(self, records: list[PipedRecord]) -> list[Forwarded[Any]]:
        if records:
            self._idle_ms = 0
        streams: list[list[list[Message]]] = [
            [[] for _ in range(self._partitions // self._tasks)] for _ in range(self._tasks)
        ]
        for record in records:
            partition = partition_of(record.key() or b"", self._partitions)
            streams[partition % self._tasks][partition // self._tasks].append(record)
        begun = len(self.outputs)
        for number, stage in enumerate(self.stages):
            results = stage.run(streams, self._clock, self._idle_ms, self._batch)
            for result in results:
                self.outputs.extend(shown(output, stage.codecs.outputs) for output in result.outputs)
                self.errors.extend(map(failure, result.errors))
                self.late.extend(map(failure, result.late))
                self.duplicates += result.duplicates
            following = self._job.after(number)
            if following is not None:
                streams = stage.after(results, following.name)
        self._batch += 1
        return self.outputs[begun:]
