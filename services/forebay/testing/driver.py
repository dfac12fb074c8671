"""Drives a service, all its sub-topologies and tasks, with the engine a job runs on: no Spark, no Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forebay.agreement import check_agreement
from forebay.builder import Topology, job
from forebay.builder.shown import NoSettings
from forebay.catalog import Service, find_service
from forebay.formats import key_writer
from forebay.job import Job, load_job
from forebay.limits import TaskLimits
from forebay.names import matching
from forebay.partitioner import partition_of
from forebay.processor.api import AnyProcessor
from forebay.processor.engine import Codecs, EngineSettings
from forebay.processor.messages import Headers, Message, Output
from forebay.serde import local_codec
from forebay.serde.subjects import connect_nowhere
from forebay.task_limits import task_limits
from forebay.testing.contents import contents
from forebay.testing.kept import KeptRecords
from forebay.testing.shown import Failure, Forwarded, PipedRecord, failure, shown
from forebay.testing.stages import Crossing, StageTasks, crossing_of
from forebay.wiring import Contract

_MOST_ROUNDS = 1_000


What = str | Service | Job | Topology | AnyProcessor


def _job_of(what: What, codecs: Codecs | None) -> Job:
    if isinstance(what, str):
        return load_job(find_service(what).job)
    if isinstance(what, Service):
        return load_job(what.job)
    if isinstance(what, Topology):
        return job(NoSettings, lambda _: what)
    if isinstance(what, Job):
        return what
    if codecs is None:
        raise TypeError(f"{type(what).__name__} is a processor: give its codecs=, or a topology or a job it is in")
    inputs, outputs = dict.fromkeys(codecs.inputs, object), dict.fromkeys(codecs.outputs, object)
    return Job(inputs, outputs, NoSettings, lambda _: what, tables=codecs.tables)


def _contracts_of(what: What) -> Contract:
    if isinstance(what, str):
        return lambda _, record: local_codec(what, record)
    kept = KeptRecords()
    return lambda _, record: kept.codec(record)


class TestDriver:
    """Pipes records into a service and shows what it does (TopologyTestDriver).

    Each pipe is a batch of its own. The wall clock stands far in the future, so that event times are free, unless it is
    given.

    Args:
        what: a topology, a job, an entry that is in no table of services, a processor (these need no contracts), or the
            name of a service in the table.
        codecs: of a processor's inputs, stores and outputs.
        tasks: number of state tasks.
        partitions: of every input and output; a multiple of the tasks; as many as tasks by default.
        settings: of the logic; its defaults unless given.
        clock: the wall clock to begin with, in ms.
        topics: names of the topics that there are, for sources that read what matches a pattern.
        engine: fields of EngineSettings that differ from their defaults.

    Raises:
        Disagreement: the service's entry and its job say different things.
    """

    __test__ = False

    def __init__(
        self,
        what: What,
        codecs: Codecs | None = None,
        *,
        tasks: int = 1,
        partitions: int = 0,
        settings: Any = None,
        clock: int = 1 << 52,
        topics: Iterable[str] = (),
        **engine: Any,
    ) -> None:
        connect_nowhere()
        self._job, self._name = _job_of(what, codecs), what if isinstance(what, str) else "driven"
        self._partitions = partitions or tasks
        self._tasks = tasks
        chosen = self._job.settings() if settings is None else settings
        if self._job.matched is not None and self._job.patterns:
            there = list(topics)
            self._job = self._job.matched({pattern: matching(pattern, there) for pattern in self._job.patterns})
        elif isinstance(what, (str, Service)):
            check_agreement(find_service(what) if isinstance(what, str) else what, self._job, chosen)
        how, contract = replace(EngineSettings(service=self._name), **engine), _contracts_of(what)
        self.stages = [
            StageTasks(self._job, part, chosen, tasks, self._limited(what, how, number), contract, clock, codecs)
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

    def advance_stream_time(self, to: int) -> list[Forwarded[Any]]:
        """Close everything up to `to` (ms), as a record of then would in every task; give the outputs."""
        return self._run([], to)

    def store(self, name: str) -> Any:
        """Return what a store holds as it was last committed, over all tasks (see `contents`). Raises KeyError."""
        for stage in self.stages:
            found = stage.stores(name)
            if found:
                return contents(found, stage.keys_of(name))
        names = sorted({store.name for stage in self.stages for store in stage.declared})
        raise KeyError(f"{self._name} has no store {name!r}: choose from {', '.join(names)}")

    def timers(self) -> int:
        """Count the timers set."""
        return sum(len(engine.timers) for stage in self.stages for engine in stage.engines)

    def restart(self) -> None:
        """Start over from the committed tables, as tasks do in a new process."""
        for stage in self.stages:
            stage.restart()

    def _limited(self, what: What, engine: EngineSettings, stage: int) -> EngineSettings:
        """Return the settings with what the topics take as they are created, unless others are given."""
        limits = engine.limits
        if isinstance(what, str) and limits == TaskLimits():
            limits = task_limits(find_service(what), stage=stage)
        outputs = {name: replace(limits.output(name), partitions=self._partitions) for name in self._job.outputs}
        onward = {
            name: replace(limits.onward(name), partitions=self._tasks)
            for part in self._job.topology
            for name in part.repartitions
        }
        return replace(engine, limits=replace(limits, outputs={**outputs, **onward}))

    def _encoded(self, topic: str, key: Any, event: Any, timestamp: int, headers: Headers | None) -> PipedRecord:
        stage = next((each for each in self.stages if topic in each.part.inputs), None)
        if stage is None:
            raise KeyError(f"{self._name} reads no topic {topic!r}: choose from {', '.join(self._job.inputs)}")
        kind = self._job.format_of(topic).key
        time_of = stage.processors[0].reading(topic).timestamp
        at = timestamp if time_of is None or event is None else time_of(event)
        text = None if key is None else kind.row(key) if kind.row is not None else key
        data = None if text is None else text.encode() if kind.is_text else key_writer(kind)(text)
        value = None if event is None else stage.codecs.inputs[topic].encode(event)
        return self._record(topic, data, value, at, headers or [])

    def _record(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> PipedRecord:
        self._offsets += 1
        return PipedRecord(topic, self._offsets - 1, key, value, timestamp, headers, partition)

    def _run(self, records: list[PipedRecord], close_until: int = -1) -> list[Forwarded[Any]]:
        """Run a batch, then what it sent to topics that the service reads itself, until that is nothing."""
        begun = len(self.outputs)
        for _ in range(_MOST_ROUNDS):
            records = self._sent_to_itself(self._batch_of(records, close_until))
            if not records:
                return self.outputs[begun:]
        raise RuntimeError(
            f"{self._name} sends records to {', '.join(sorted(self._job.inputs & self._job.outputs.keys()))} for ever: "
            "it reads them itself, and makes others of them each time"
        )

    def _sent_to_itself(self, outputs: list[Output]) -> list[PipedRecord]:
        return [
            self._record(sent.target, sent.key, sent.value, sent.timestamp, list(sent.headers or []), sent.partition)
            for sent in outputs
            if sent.target in self._job.inputs
        ]

    def _batch_of(self, records: list[PipedRecord], close_until: int) -> list[Output]:
        if records:
            self._idle_ms = 0
        arrived: dict[tuple[str, int], list[Message]] = {}
        for record in records:
            chosen = record.partition_
            place = record.topic(), partition_of(record.key() or b"", self._partitions) if chosen is None else chosen
            arrived.setdefault(place, []).append(record)
        sent: list[Output] = []
        crossing: Crossing = {}
        for stage in self.stages:
            results = stage.run(stage.streams(arrived, crossing), self._clock, self._idle_ms, self._batch, close_until)
            for result in results:
                sent += result.outputs
                self.outputs.extend(shown(output, stage.codecs) for output in result.outputs)
                self.errors.extend(map(failure, result.errors))
                self.late.extend(map(failure, result.late))
                self.duplicates += result.duplicates
            for (name, sender), outputs in crossing_of(results).items():
                crossing[name, self._sender(stage, sender)] = outputs
        self._batch += 1
        return sent

    def _sender(self, stage: StageTasks, task: int) -> int:
        """Return a number of a task among those of all sub-topologies: several may send to one repartition."""
        return self.stages.index(stage) * self._tasks + task
