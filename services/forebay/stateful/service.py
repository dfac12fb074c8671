"""`stateful_job`, which creates a job that runs one StatefulProcessor between an input topic and an output topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from forebay.builder import Topology, job
from forebay.builder.specs import Spec
from forebay.job import Job
from forebay.stateful.settings import StatefulSettings
from forebay.stateful.transform import transform_with_state
from forebay.time.durations import Duration


def stateful_job(
    stateful_processor: StatefulProcessor | Callable[[], StatefulProcessor],
    *,
    input_topic: str,
    input: Spec[Any],
    output_topic: str,
    output: Spec[Any],
    key: Spec[Any] = str,
    group_by: str | Sequence[str] | None = None,
    time_mode: str = "None",
    event_time: str | Callable[[Any], int] | None = None,
    watermark_delay_ms: Duration = 0,
    initial_state_topic: str = "",
    initial_state: Spec[Any] | None = None,
    input_schema: StructType | str | None = None,
    name: str = "",
) -> Job:
    """Return a job that runs a class written for PySpark's transformWithState.

    The arguments `stateful_processor`, `group_by`, `time_mode`, `watermark_delay_ms`, `input_schema` and `name` are
    described at `transform_with_state`.

    Args:
        input: Record class or format of the input topic's values.
        output: Record class or format of the output topic's values.
        key: Type of the input's keys, which are the grouping keys if `group_by` is omitted.
        event_time: Column with the event time (ms), or a function that returns it for a value. The default is the
            timestamp of the Kafka record.
        initial_state_topic: Topic with the rows for `handleInitialState`. They are processed before the input records,
            regardless of their timestamps.
        initial_state: Record class of these rows.
    """

    def build(_: StatefulSettings) -> Topology:
        topology = Topology()
        rows = topology.stream(input_topic, input, key=key, timestamp=event_time)
        initial = None
        if initial_state is not None:
            initial = topology.stream(initial_state_topic, initial_state, key=key, timestamp=_before_all)
        result = transform_with_state(
            rows,
            stateful_processor,
            output,
            group_by=group_by,
            time_mode=time_mode,
            watermark_delay_ms=watermark_delay_ms,
            initial_state=initial,
            input_schema=input_schema,
            name=name,
        )
        result.to(output_topic)
        return topology

    return job(StatefulSettings, build)


def _before_all(_row: Any) -> int:
    """Return the event time of initial rows, which is before that of any record. Kafka clients can't write 0."""
    return 1
