"""The test driver, which runs all tasks of a service with the loop of a real job, without Spark and Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from forebay.catalog import Service, find_service
from forebay.formats import key_writer
from forebay.in_memory.loop import GoesRound, Left, Loop, Time, errors, late
from forebay.in_memory.records import Failure, Forwarded, show_failure, show_output
from forebay.in_memory.sub_topologies import SubTopologyTasks
from forebay.limits.tasks import task_limits
from forebay.limits.topics import TaskLimits
from forebay.processor.codecs import Codecs
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Headers
from forebay.runtime.task.error_rate import describe_error
from forebay.serde.subjects import connect_nowhere
from forebay.service.agreement import check_agreement
from forebay.service.wiring import Contract
from forebay.testing.contents import contents
from forebay.testing.output_topic import OutputTopic
from forebay.testing.shown import RecordFailed
from forebay.testing.subject import What, contracts_of, job_of
from forebay.time.durations import Duration, ms_of
from forebay.utils.names import matching

V = TypeVar("V")


class TestDriver:
    """A driver that runs a topology, a processor or a service in memory (Kafka Streams' TopologyTestDriver).

    Each call runs the loop of a real job until all records are processed. If the loop fails, the call raises the error,
    and the next call processes the uncommitted records again. Time advances only with records, `advance_wall_time` and
    `advance_stream_time`. By default, the wall clock is far in the future, so that any event time is accepted.

    Args:
        what: A topology, a job, a service's entry (Service), a processor, or the name of a service.
        codecs: Codecs of the inputs, stores and outputs. They are required for a processor.
        tasks: Number of tasks.
        partitions: Number of partitions of each input and output, a multiple of the tasks. By default, equal to the
            tasks.
        settings: Settings of the logic. By default, the default settings.
        clock: Wall-clock time at the start, in ms.
        topics: Names of the topics that exist, for sources that read topics by pattern.
        raise_errors: Whether a call raises RecordFailed if records went to `errors`. Otherwise look at `errors`.
        contract: Function that returns the codec of a record type for a topic or store. By default, the service's
            contracts.
        engine: Fields of EngineSettings that differ from their defaults.

    Raises:
        Disagreement: The service's entry and its job contradict each other.
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
        raise_errors: bool = False,
        contract: Contract | None = None,
        **engine: Any,
    ) -> None:
        connect_nowhere()
        self._job, self._name = job_of(what, codecs, tasks), what if isinstance(what, str) else "driven"
        self._partitions = partitions or tasks
        self._tasks = tasks
        self._raises = raise_errors
        chosen = self._job.settings() if settings is None else settings
        if self._job.matched is not None and self._job.patterns:
            there = list(topics)
            self._job = self._job.matched({pattern: matching(pattern, there) for pattern in self._job.patterns})
        elif isinstance(what, (str, Service)):
            check_agreement(find_service(what) if isinstance(what, str) else what, self._job, chosen)
        how, codecs_of = replace(EngineSettings(service=self._name), **engine), contract or contracts_of(what)
        self._time = Time(clock)
        self.sub_topologies = [
            SubTopologyTasks(
                self._job,
                number,
                chosen,
                tasks,
                self._limit(what, how, number),
                codecs_of,
                self._time.monotonic,
                codecs,
            )
            for number in range(len(self._job.topology))
        ]
        self.outputs: list[Forwarded[Any]] = []
        self.errors: list[Failure] = []
        self.late: list[Failure] = []
        written = self.sub_topologies[0].codecs
        sinks = {topic: show_output(topic, written, self._sent) for topic in written.outputs}
        sinks |= {errors(self._name): show_failure(self._on_failure), late(self._name): show_failure(self._came_late)}
        self._loop = Loop(self._job, self._name, self.sub_topologies, tasks, self._partitions, self._time, sinks)

    @property
    def stages(self) -> list[SubTopologyTasks]:
        """The name of `sub_topologies` in 0.2, which will be removed in the next release."""
        return self.sub_topologies

    @property
    def duplicates(self) -> int:
        """Number of records that were dropped because their event ids were known."""
        return self._loop.producer.duplicates

    @property
    def stream_time(self) -> int:
        """Largest event time that the first sub-topology has accepted, in ms; -1 before the first record."""
        return max(position.stream_time for position in self.sub_topologies[0].positions())

    def pipe(
        self, key: Any, event: Any, topic: str | None = None, timestamp: int = 0, headers: Headers | None = None
    ) -> list[Forwarded[Any]]:
        """Process one record and return the outputs that it caused.

        Args:
            key: Key of the record.
            event: Value of the record.
            topic: Input topic. It may be left out if there is only one.
            timestamp: Timestamp of the Kafka record, in ms. It is used if the event time is not read from the value.
            headers: Headers of the record.
        """
        self._append(topic, key, event, timestamp, headers)
        return self._run()

    def run_batch(self, records: Iterable[tuple[Any, Any]], topic: str | None = None) -> list[Forwarded[Any]]:
        """Process (key, event) records of one topic that are available at once. Return the outputs."""
        for key, event in records:
            self._append(topic, key, event, 0, None)
        return self._run()

    def pipe_all(self, records: Iterable[tuple[str, Any, Any, int]]) -> list[Forwarded[Any]]:
        """Process (topic, key, event, timestamp) records that are available at once. Return the outputs."""
        for topic, key, event, timestamp in records:
            self._append(topic, key, event, timestamp, None)
        return self._run()

    def pipe_bytes(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        topic: str | None = None,
        headers: Headers | None = None,
    ) -> list[Forwarded[Any]]:
        """Process one record whose key and value are bytes. Return the outputs that it caused."""
        self._put(topic or self._first, key, value, timestamp, headers)
        return self._run()

    def advance_wall_time(self, ms: Duration) -> list[Forwarded[Any]]:
        """Let wall-clock time pass without input, and return the outputs that this caused.

        Records sent between sub-topologies during this time arrive at the end of it.

        Args:
            ms: Duration in ms or as a timedelta.
        """
        return self._outputs_of(lambda: self._loop.pass_time(ms_of(ms)))

    def advance_stream_time(self, to: int) -> list[Forwarded[Any]]:
        """Close windows and fire timers up to `to` (ms) in every task, as a record with this timestamp would.

        Return the outputs.
        """
        return self._outputs_of(lambda: self._loop.close(to))

    @overload
    def output(self, topic: str) -> OutputTopic[Any]: ...
    @overload
    def output(self, topic: str, value: type[V]) -> OutputTopic[V]: ...
    def output(self, topic: str, value: type[Any] = object) -> OutputTopic[Any]:
        """Return a reader of the records that the job sends to a topic, beginning with the first one.

        Args:
            topic: Name of an output topic.
            value: Class of its values.

        Raises:
            KeyError: The job does not write this topic.
        """
        if topic not in self._job.outputs:
            raise KeyError(f"{self._name} writes no topic {topic!r}: choose from {', '.join(self._job.outputs)}")
        return OutputTopic(topic, self.outputs, value)

    def store(self, name: str) -> Any:
        """Return the committed contents of a store over all tasks. Raise KeyError if there is no such store."""
        for sub_topology in self.sub_topologies:
            stores = sub_topology.stores(name)
            if stores:
                return contents(stores, sub_topology.keys_of(name))
        names = sorted({store.name for sub_topology in self.sub_topologies for store in sub_topology.declared})
        raise KeyError(f"{self._name} has no store {name!r}: choose from {', '.join(names)}")

    def timers(self) -> int:
        """Return the number of timers that are set."""
        return sum(len(engine.timers) for sub_topology in self.sub_topologies for engine in sub_topology.engines)

    def restart(self, waiting: Iterable[tuple[str, Any, Any, int]] = ()) -> list[Forwarded[Any]]:
        """Restart the job as a new process would, from its changelogs and committed offsets.

        Args:
            waiting: (topic, key, event, timestamp) records that arrived while the job was down.

        Returns:
            The outputs that the restart caused.
        """
        for topic, key, event, timestamp in waiting:
            self._append(topic, key, event, timestamp, None)
        return self._outputs_of(self._loop.restart)

    def restore(self, tasks: Mapping[tuple[int, int], Left]) -> None:
        """Restart with the rows and positions of another driver's tasks, by sub-topology and task number."""
        self._loop.restore(tasks)

    def _limit(self, what: What, engine: EngineSettings, sub_topology: int) -> EngineSettings:
        """Return the settings with the limits of newly created topics, unless the settings specify limits."""
        limits = engine.limits
        if isinstance(what, str) and limits == TaskLimits():
            limits = task_limits(find_service(what), sub_topology=sub_topology)
        outputs = {name: replace(limits.output(name), partitions=self._partitions) for name in self._job.outputs}
        onward = {
            name: replace(limits.onward(name), partitions=self._tasks)
            for sub_topology in self._job.topology
            for name in sub_topology.repartitions
        }
        return replace(engine, limits=replace(limits, outputs={**outputs, **onward}))

    def _append(self, topic: str | None, key: Any, event: Any, timestamp: int, headers: Headers | None) -> None:
        source = topic or self._first
        sub_topology = next(
            (sub_topology for sub_topology in self.sub_topologies if source in sub_topology.definition.inputs), None
        )
        if sub_topology is None:
            raise KeyError(f"{self._name} reads no topic {source!r}: choose from {', '.join(self._job.inputs)}")
        kind = self._job.read_format_of(source).key
        time_of = sub_topology.processors[0].reading(source).timestamp
        at = timestamp if time_of is None or event is None else time_of(event)
        text = None if key is None else kind.row(key) if kind.row is not None else key
        data = None if text is None else text.encode() if kind.is_text else key_writer(kind)(text)
        value = None if event is None else sub_topology.codecs.inputs[source].encode(event)
        self._put(source, data, value, at, headers)

    @property
    def _first(self) -> str:
        return next(iter(self._job.inputs))

    def _put(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers | None) -> None:
        number = self._loop.partition_of(key or b"")
        self._loop.topics.partition(topic, number).append(key, value, timestamp, headers or [])

    def _run(self) -> list[Forwarded[Any]]:
        return self._outputs_of(self._loop.run)

    def _outputs_of(self, step: Callable[[], None]) -> list[Forwarded[Any]]:
        """Return the outputs that a step of the loop caused. With raise_errors, raise RecordFailed on errors."""
        begun, failed = len(self.outputs), len(self.errors)
        try:
            step()
        except GoesRound:
            raise RuntimeError(
                f"{self._name} sends records to {', '.join(sorted(self._job.inputs & self._job.outputs.keys()))} for "
                "ever: it reads what it writes there, and writes new records for each record that it reads"
            ) from None
        if self._raises and len(self.errors) > failed:
            first, others = self.errors[failed], len(self.errors) - failed - 1
            more = f"; {others} more failed, see .errors of the driver" if others else ""
            raise RecordFailed(f"{describe_error(first.key, first.headers)}{more}")
        return self.outputs[begun:]

    def _sent(self, output: Forwarded[Any]) -> None:
        self.outputs.append(output)

    def _on_failure(self, failure: Failure) -> None:
        self.errors.append(failure)

    def _came_late(self, failure: Failure) -> None:
        self.late.append(failure)
