"""The state task inside Spark: a transformWithState processor that keeps blocks and one state value per task."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.catalog import find_service
from forebay.job import load_job
from forebay.runtime.batch import TaskBatch
from forebay.runtime.buckets import bucket_ids
from forebay.runtime.build import build_first, build_later
from forebay.runtime.changelog import internal_topic
from forebay.runtime.handover import HandedInput, Handover, hand_over, taken_over
from forebay.runtime.logs import configure_logging
from forebay.runtime.spec import JobSpec
from forebay.runtime.task import StateTask

OUTPUT_SCHEMA = "reports string"

_Ident = tuple[str, str, int, int]

_TASKS: dict[_Ident, StateTask] = {}
"""This worker's tasks, by (job, application, stage, task). Each believes only what Spark's state confirms."""

_SOURCES: dict[_Ident, HandedInput] = {}
_HANDED = tuple(field.name for field in fields(Handover) if field.name != "reports")


class SparkStorage:
    """A task's state in Spark (implements `StateStorage`)."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("state", "value binary")
        self._blocks = handle.getMapState("blocks", "number long", "data binary")

    def read_state(self) -> bytes | None:
        row = self._state.get()
        return None if row is None else bytes(row[0])

    def write_state(self, data: bytes) -> None:
        self._state.update((data,))

    def get_block(self, number: int) -> bytes:
        row = self._blocks.getValue((number,))
        if row is None:
            raise KeyError(number)
        return bytes(row[0])

    def put_block(self, number: int, data: bytes) -> None:
        self._blocks.updateValue((number,), (data,))

    def delete_block(self, number: int) -> None:
        self._blocks.removeKey((number,))


class StateTaskProcessor(StatefulProcessor):
    """Hands each task's batch to its StateTask; gives its report, or what it hands to the next stage."""

    def __init__(self, spec: JobSpec, stage: int, stages: int) -> None:
        self._spec = spec
        self._stage = stage
        self._last = stage == stages - 1
        self._storage: SparkStorage | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._storage = SparkStorage(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        configure_logging(self._spec.log_format)
        if self._stage == 0:
            for row in rows:
                batch = TaskBatch.from_json(row["batch"])
                yield from self._run(batch, self._first(batch), [])
        else:
            handed = sorted((_read(row) for row in rows), key=lambda item: item.source)
            yield from self._run_later(handed)

    def close(self) -> None:
        self._storage = None

    def _run_later(self, handed: list[Handover]) -> Iterator[Row]:
        spec = self._spec
        batch = taken_over(handed, spec.tasks, internal_topic(spec.application, self._stage))
        task, source = self._later(batch)
        source.offer(handed)
        try:
            yield from self._run(batch, task, [report for item in handed for report in item.reports])
        finally:
            source.offer(())

    def _run(self, batch: TaskBatch, task: StateTask, carried: list[str]) -> Iterator[Row]:
        assert self._storage is not None
        report = task.run(batch, self._storage)
        report.worker = os.getpid()
        reports = [*carried, report.to_json()]
        if self._last:
            yield Row(reports=json.dumps(reports))
            return
        buckets = bucket_ids(self._spec.tasks, self._spec.state_partitions)
        for item in hand_over(batch, task.onward, reports):
            fields = {name: getattr(item, name) for name in _HANDED}
            yield Row(bucket=buckets[item.task], **fields, reports=json.dumps(item.reports))

    def _first(self, batch: TaskBatch) -> StateTask:
        ident = (batch.job, self._spec.application, 0, batch.task)
        task = _TASKS.get(ident)
        if task is None:
            partitions = [(item.topic, item.partition) for item in batch.ranges]
            task = _TASKS[ident] = build_first(self._spec, batch.task, partitions)
        return task

    def _later(self, batch: TaskBatch) -> tuple[StateTask, HandedInput]:
        ident = (batch.job, self._spec.application, self._stage, batch.task)
        if ident not in _TASKS:
            stage = load_job(find_service(self._spec.service).job).after(self._stage - 1)
            assert stage is not None, "the job has as many stages as its service says"
            source = _SOURCES[ident] = HandedInput(stage.name)
            _TASKS[ident] = build_later(self._spec, self._stage, batch.task, source)
        return _TASKS[ident], _SOURCES[ident]


def _read(row: Row) -> Handover:
    return Handover(**{name: row[name] for name in _HANDED}, reports=tuple(json.loads(row["reports"])))
