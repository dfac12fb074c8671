"""The state task inside Spark: a transformWithState processor that keeps blocks and one state value per task."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.runtime.batch import TaskBatch
from forebay.runtime.build import build_task
from forebay.runtime.logs import configure_logging
from forebay.runtime.spec import JobSpec
from forebay.runtime.task import StateTask

OUTPUT_SCHEMA = "task int, report string"

_TASKS: dict[tuple[str, str, int], StateTask] = {}
"""This worker's tasks, by (job, application, task). Each believes only what Spark's state confirms."""


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
    """Hands each task's batch to its StateTask and gives its report."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._storage: SparkStorage | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._storage = SparkStorage(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        configure_logging(self._spec.log_format)
        assert self._storage is not None
        for row in rows:
            batch = TaskBatch.from_json(row["batch"])
            report = self._task(batch).run(batch, self._storage)
            report.worker = os.getpid()
            yield Row(task=batch.task, report=report.to_json())

    def close(self) -> None:
        self._storage = None

    def _task(self, batch: TaskBatch) -> StateTask:
        ident = (batch.job, self._spec.application, batch.task)
        task = _TASKS.get(ident)
        if task is None:
            partitions = [(item.topic, item.partition) for item in batch.ranges]
            task = _TASKS[ident] = build_task(self._spec, batch.task, partitions)
        return task
