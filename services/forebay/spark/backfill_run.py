"""The backfill, a Spark batch that processes the history of a job's inputs and commits the same results as the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from forebay.job import Job, load_job
from forebay.kafka.admin import TopicAdmin
from forebay.processor.messages import Headers
from forebay.runtime.driver.app import JobApplication
from forebay.runtime.driver.backfill import Backfill
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.slots import count_slots
from forebay.runtime.launch.pandas_later import pandas_unasked
from forebay.runtime.process.memory import batch_bytes, memory_bytes
from forebay.runtime.protocol.backfills import backfill_checkpoint
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.snapshots.opening import NoStorage
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spec import JobSpec, StartFrom, recall_matches
from forebay.runtime.task.history import HistoryRecord, HistoryRow
from forebay.runtime.task.pacing import Limits
from forebay.runtime.worker.backfill import backfill_group
from forebay.spark.backfill_slots import needs_slots, reported_waiting, require_slots_of_groups
from forebay.spark.errors import OptionError
from forebay.spark.history import HistoryTopic, check_place, digest, has_offsets, order_history
from forebay.spark.history_encoding import raw_history
from forebay.spark.option_values import check_connection_options, connection
from forebay.utils.spelling import did_you_mean

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_COUNTS = "records bigint, outputs bigint, errors bigint, late bigint"
_MOST_RECORDS = 200_000
"""Records per commit. Larger commits delay outputs, which does not matter here, and a row that changes several times in
a commit is written once."""


@dataclass(frozen=True, slots=True)
class BackfillResult:
    """Counts of the records that a run of a backfill processed and sent.

    Args:
        records: Input records that were processed. A repeated run skips the records that an earlier run committed.
        outputs: Records sent to output topics.
        errors: Records sent to `.errors`.
        late: Records sent to `.late`.
    """

    records: int
    outputs: int
    errors: int
    late: int


def backfill(
    spark: SparkSession,
    service: str,
    frames: Mapping[str, DataFrame | None],
    *,
    application: str = "",
    starting_offsets: str | int = "earliest",
    tasks: int = 0,
    groups: int = 0,
    settings: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> BackfillResult:
    """Process the history of a service's inputs, so that its job can start where the history ends.

    Outputs, changelogs and positions are committed exactly once, as by the job itself. If the call is interrupted,
    repeat it with the same arguments, and it resumes. The topics of the job must exist.

    Args:
        spark: The session. Each task group uses one of its slots.
        service: Name of the service.
        frames: History of each input, by topic. The history is None if the input has none.
        application: Application id. The default is the name of the service.
        starting_offsets: Where the job starts to read inputs whose history has no offsets: "earliest", "latest", or a
            time in ms.
        tasks: Number of tasks. By default, it follows from the partitions of the topics.
        groups: Number of task groups, which run at the same time. The default is the number of Spark's slots.
        settings: Settings of the service's logic.
        options: Connection options of the format `forebay`: `bootstrapServers`, `schemaRegistryUrl`, `kafka.<option>`.

    Returns:
        Counts of the records that this call processed and sent.

    Raises:
        OptionError: An option is unknown, an entry in `frames` is missing, or a history lacks columns.
        StopJob: The job has already committed positions for this application id.
    """
    given = {name.lower(): text for name, text in (options or {}).items()}
    check_connection_options(given)
    if not isinstance(starting_offsets, int) and starting_offsets not in ("earliest", "latest"):
        raise OptionError(
            f"starting_offsets is {starting_offsets!r}: specify earliest, latest, or a time in ms as an int"
        )
    start = (
        StartFrom("timestamp", starting_offsets) if isinstance(starting_offsets, int) else StartFrom(starting_offsets)
    )
    chosen = JobOptions(
        service=service,
        kafka=connection(given),
        plan=Plan("", Trigger.AVAILABLE_NOW),
        application=application,
        tasks=tasks,
        groups=groups or count_slots(spark.sparkContext) or spark.sparkContext.defaultParallelism,
        logic=settings or {},
        engine={"start": start, "limits": history_limits()},
    )
    return run_backfill(spark, JobApplication(chosen).prepare(), frames)


def history_limits() -> Limits:
    """Return the limits of a backfill's commits."""
    return Limits(max_records=_MOST_RECORDS, max_bytes=batch_bytes(memory_bytes()), idle=False)


def run_backfill(spark: SparkSession, spec: JobSpec, frames: Mapping[str, DataFrame | None]) -> BackfillResult:
    """Run the backfill of a prepared job spec. Errors are those of `backfill`."""
    if spark.conf.get("spark.speculation", "false") == "true":
        raise OptionError(
            "spark.speculation is true: two attempts would fence each other's task groups. Set it to false"
        )
    job = load_job(spec.entry.job)
    history = _by_input(spec, frames)
    if not history:
        raise OptionError(f"{spec.service}: no input has a history: run the job, which reads the topics")
    together = len(job.topology) > 1
    if together:
        require_slots_of_groups(spark.sparkContext, spec.application, spec.groups)
    topics = {topic.declared: topic.name for topic in spec.entry.inputs}
    numbered = {topics[name] for name, frame in history.items() if has_offsets(frame)}
    run = Backfill(spec, backfill_checkpoint(digest(history)), numbered)
    partitions = TopicAdmin(spec.kafka).partitions(topics.values())
    read = {
        name: _topic(
            job, name, raw_history(spec, name, topics[name], frame, partitions[topics[name]]), has_offsets(frame)
        )
        for name, frame in history.items()
    }
    rows = order_history(read, spec.tasks, spec.groups)
    leases = [run.lease(group) for group in range(spec.groups)]
    result = _process(rows, spec, topics, partitions, leases, together=together)
    run.hand_over()
    return result


def _process(
    rows: DataFrame,
    spec: JobSpec,
    topics: Mapping[str, str],
    partitions: Mapping[str, int],
    leases: list[Lease],
    *,
    together: bool,
) -> BackfillResult:
    """Process the rows of each Spark partition as the task group of the same number.

    Args:
        rows: The rows of `order_history`.
        spec: The spec of the job.
        topics: Topics by name of the input.
        partitions: Number of partitions of each topic.
        leases: The lease of each group.
        together: Whether groups read records that other groups forward. If so, all groups must run at the same time.
    """
    sealed = SealedSpec(spec)

    def process(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        from pyarrow import RecordBatch  # noqa: PLC0415 (the driver needs none)

        context = TaskContext.get()
        assert context is not None
        own = sealed.open()
        recall_matches(own)
        done = backfill_group(own, leases[context.partitionId()], NoStorage(), _rows(batches, topics, partitions))
        inputs = topics.values()
        counts = [
            (sum(task.records_in.get(topic, 0) for topic in inputs), task.outputs, task.errors, task.late)
            for task in done
        ]
        names = ("records", "outputs", "errors", "late")
        yield RecordBatch.from_pydict({name: [count[at] for count in counts] for at, name in enumerate(names)})

    try:
        with pandas_unasked(), reported_waiting(rows.sparkSession.sparkContext, spec.application):
            counted = rows.mapInArrow(process, _COUNTS, barrier=together)
        sums = counted.agg(*(F.coalesce(F.sum(name), F.lit(0)) for name in ("records", "outputs", "errors", "late")))
        totals: Any = sums.first()
    except PySparkException as error:
        if "barrier" in str(error):
            raise OptionError(needs_slots(spec.application, spec.groups)) from error
        raise
    return BackfillResult(*map(int, totals))


def _rows(
    batches: Iterator[RecordBatch], topics: Mapping[str, str], partitions: Mapping[str, int]
) -> Iterator[HistoryRow]:
    columns = ("name", "partition", "offset", "key", "value", "timestamp", "headers", "turn")
    for batch in batches:
        for name, partition, offset, key, value, timestamp, headers, turn in zip(
            *(batch.column(column).to_pylist() for column in columns), strict=True
        ):
            check_place(topics[name], partition, offset, timestamp, partitions[topics[name]])
            record = HistoryRecord(topics[name], partition, offset, key, value, timestamp, _headers(headers))
            yield HistoryRow(turn, record)


def _headers(pairs: list[dict[str, Any]] | None) -> Headers | None:
    return [(pair["key"], pair["value"]) for pair in pairs] if pairs else None


def _by_input(spec: JobSpec, frames: Mapping[str, DataFrame | None]) -> dict[str, DataFrame]:
    """Return the histories that are not None, by name of the input in the job. Raises OptionError."""
    names = {topic.name: topic.declared for topic in spec.entry.inputs}
    names |= {topic.declared: topic.declared for topic in spec.entry.inputs}
    for name in frames:
        if name not in names:
            raise OptionError(f"{spec.service} reads no topic {name}{did_you_mean(name, names)}")
    given = {names[name]: frame for name, frame in frames.items()}
    missing = [topic.name for topic in spec.entry.inputs if topic.declared not in given]
    if missing:
        raise OptionError(
            f"{spec.service} also reads {', '.join(missing)}: give a history of each input, or None for an input that "
            "has none"
        )
    return {name: frame for name, frame in given.items() if frame is not None}


def _topic(job: Job, name: str, frame: DataFrame, is_numbered: bool) -> HistoryTopic:
    parts = [part for part in job.topology if name in part.inputs]
    if any(name in part.global_tables for part in parts):
        return HistoryTopic(frame, -1, True, is_numbered)
    return HistoryTopic(frame, 0 if any(name in part.tables for part in parts) else 1, False, is_numbered)


__all__ = ["BackfillResult", "backfill", "history_limits", "run_backfill"]
