"""Drives a whole service, all its sub-topologies and tasks, with the engine a job runs on: no Spark, no Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forebay.agreement import check_agreement
from forebay.catalog import find_service
from forebay.formats import key_writer
from forebay.job import Job, load_job
from forebay.limits import TaskLimits
from forebay.partitioner import partition_of
from forebay.processor.engine import EngineSettings
from forebay.processor.messages import Headers, Message
from forebay.serde import local_codec
from forebay.task_limits import task_limits
from forebay.testing.driver import Failure, Forwarded, PipedRecord, failure, shown
from forebay.testing.kept import KeptRecords
from forebay.testing.stages import Crossing, StageTasks, crossing_of
from forebay.wiring import Contract


class JobDriver:
    """Pipes records into a service and shows what it does (in the manner of TopologyTestDriver).

    Each pipe is a batch of its own. The wall clock stands far in the future, so that event times are free, unless it is
    given.

    Args:
        service: name in the table of services, or a job: one that is in no table needs no contracts either.
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
        service: str | Job,
        *,
        tasks: int = 1,
        partitions: int = 0,
        settings: Any = None,
        clock: int = 1 << 52,
        **engine: Any,
    ) -> None:
        contract: Contract
        if isinstance(service, Job):
            kept = KeptRecords()
            self._job, self._name, contract = service, "driven", lambda _, record: kept.codec(record)
        else:
            self._job, self._name = load_job(find_service(service).job), service
            contract = lambda _, record: local_codec(service, record)  # noqa: E731
        self._partitions = partitions or tasks
        self._tasks = tasks
        chosen = self._job.settings() if settings is None else settings
        if not isinstance(service, Job):
            check_agreement(find_service(service), self._job, chosen)
        how = replace(EngineSettings(service=self._name), **engine)
        self.stages = [
            StageTasks(self._job, part, chosen, tasks, self._limited(service, how, number), contract, clock)
            for number, part in enumerate(self._job.topology)
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

    def pipe(
        self, key: Any, event: Any, topic: str | None = None, timestamp: int = 0, headers: Headers | None = None
    ) -> list[Forwarded[Any]]:
        """Process one record in a batch of its own; give the outputs it caused.

        Args:
            timestamp: the Kafka record's (ms), where its value carries none.
        """
        return self._run([self._encoded(topic or next(iter(self._job.inputs)), key, event, timestamp, headers)])

    def run_batch(self, records: Iterable[tuple[Any, Any]], topic: str | None = None) -> list[Forwarded[Any]]:
        """Process (key, event) records of one topic in one batch; give the outputs they caused."""
        source = topic or next(iter(self._job.inputs))
        return self._run([self._encoded(source, key, event, 0, None) for key, event in records])

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
        raise KeyError(f"{self._name} has no store {name!r}")

    def restart(self) -> None:
        """Start over from the committed tables, as tasks do in a new process."""
        for stage in self.stages:
            stage.restart()

    @staticmethod
    def _limited(service: str | Job, engine: EngineSettings, stage: int) -> EngineSettings:
        """Return the settings with what the topics take as they are created, unless others are given."""
        if isinstance(service, Job) or engine.limits != TaskLimits():
            return engine
        return replace(engine, limits=task_limits(find_service(service), stage=stage))

    def _encoded(self, topic: str, key: Any, event: Any, timestamp: int, headers: Headers | None) -> PipedRecord:
        (stage, *_) = (each for each in self.stages if topic in each.part.inputs)
        kind = self._job.format_of(topic).key
        time_of = stage.processors[0].reading(topic).timestamp
        at = timestamp if time_of is None or event is None else time_of(event)
        text = None if key is None else kind.row(key) if kind.row is not None else key
        data = None if text is None else text.encode() if kind.is_text else key_writer(kind)(text)
        value = None if event is None else stage.codecs.inputs[topic].encode(event)
        return self._record(topic, data, value, at, headers or [])

    def _record(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> PipedRecord:
        self._offsets += 1
        return PipedRecord(topic, self._offsets - 1, key, value, timestamp, headers)

    def _run(self, records: list[PipedRecord]) -> list[Forwarded[Any]]:
        if records:
            self._idle_ms = 0
        arrived: dict[tuple[str, int], list[Message]] = {}
        for record in records:
            place = (record.topic(), partition_of(record.key() or b"", self._partitions))
            arrived.setdefault(place, []).append(record)
        begun = len(self.outputs)
        crossing: Crossing = {}
        for stage in self.stages:
            results = stage.run(stage.streams(arrived, crossing), self._clock, self._idle_ms, self._batch)
            for result in results:
                self.outputs.extend(shown(output, stage.codecs) for output in result.outputs)
                self.errors.extend(map(failure, result.errors))
                self.late.extend(map(failure, result.late))
                self.duplicates += result.duplicates
            for (name, sender), outputs in crossing_of(results).items():
                crossing[name, self._sender(stage, sender)] = outputs
        self._batch += 1
        return self.outputs[begun:]

    def _sender(self, stage: StageTasks, task: int) -> int:
        """Give a number of a task among those of all sub-topologies: several may send to one repartition."""
        return self.stages.index(stage) * self._tasks + task
