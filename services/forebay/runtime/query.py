"""Runs a job's streaming query: starts it, watches it, starts it again after an outage, ends it at a batch's end."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from forebay.catalog import find_service
from forebay.runtime.batch import TaskReport
from forebay.runtime.errors import STOP_MARK
from forebay.runtime.handover import SCHEMA as HANDOVER_SCHEMA
from forebay.runtime.source import data_source
from forebay.runtime.spec import JobSpec
from forebay.runtime.stateful import OUTPUT_SCHEMA, StateTaskProcessor

log = logging.getLogger(__name__)

_END_REQUESTED = "forebay.end-requested"
_LONGEST_PAUSE = 30.0
_PATIENCE = 5
_PREFIX = re.compile(r"^\[STREAM_FAILED\] Query \[id = [^\]]*\] terminated with exception: ")
_PASSES = ("Unavailable", "Python worker failed to connect back")
"""What a broker or registry that is down says, and Spark (after a fixed 10 s) on a machine that is too busy."""

BatchObserver = Callable[[int, float, list[TaskReport]], None]
"""Called after each batch with Spark's batch id, seconds the tasks took, and the tasks' reports."""


class Trigger(Enum):
    """When the job ends: never by itself, or once everything that waited at the start is done."""

    CONTINUOUS = "continuous"
    AVAILABLE_NOW = "available-now"


class JobStopped(Exception):
    """The job ended because it must not go on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is run.

    Args:
        checkpoint: URL or path of Spark's checkpoint.
        reader: "driver" or "partitioned" (see `source`).
    """

    checkpoint: str
    trigger: Trigger = Trigger.CONTINUOUS
    reader: str = "driver"


class JobRunner:
    """Runs one job until it is asked to stop, has read what there was, or must not go on."""

    def __init__(
        self,
        session: SparkSession,
        spec: JobSpec,
        plan: Plan,
        observer: BatchObserver,
        failed: Callable[[str], None] = lambda _cause: None,
    ) -> None:
        self._session = session
        self._spec = spec
        self._plan = plan
        self._observer = observer
        self._failed = failed
        self._stopping = threading.Event()
        self._rebalancing = threading.Event()
        self._progressed = threading.Event()
        self.query: StreamingQuery | None = None

    def stop(self) -> None:
        """Ask the job to end when the running batch is through. Safe in a signal handler."""
        self._stopping.set()

    def rebalance(self) -> None:
        """Start the query again once the running batch is through, so that its tasks are spread over all executors."""
        self._rebalancing.set()

    def run(self) -> None:
        """Run the job. Raises JobStopped."""
        self._session.dataSource.register(data_source(self._spec, self._plan.reader))
        pause, failures = 1.0, 0
        while not self._stopping.is_set():
            self._progressed.clear()
            self._rebalancing.clear()
            try:
                self._run_query()
                if not self._rebalancing.is_set():
                    return
            except (Py4JNetworkError, ConnectionError) as error:
                raise JobStopped(
                    "Spark's JVM is gone (killed, or out of memory: see --memory): start the job again, nothing is lost"
                ) from error
            except (StreamingQueryException, PySparkException) as error:
                text = str(error)
                if _END_REQUESTED in text:
                    continue
                fatal = _stop_message(text)
                if fatal is not None:
                    raise JobStopped(fatal) from error
                if self._progressed.is_set():
                    pause, failures = 1.0, 0
                failures += 1
                if failures > _PATIENCE and not any(sign in text for sign in _PASSES):
                    raise JobStopped(f"the job failed {failures} times without progress: {_cause(text)}") from error
                self._failed(_cause(text))
                log.warning("the query failed: %s: starting it again in %.0f s", _cause(text), pause)
                self._stopping.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _run_query(self) -> None:
        frame = self._session.readStream.format("forebay").load()
        stages = find_service(self._spec.service).stages
        for stage in range(stages):
            schema = OUTPUT_SCHEMA if stage == stages - 1 else HANDOVER_SCHEMA
            processor = StateTaskProcessor(self._spec, stage, stages)
            frame = frame.groupBy("bucket").transformWithState(processor, schema, "Append", "None")
        writer = (
            frame.writeStream.queryName(self._spec.application)
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", self._plan.checkpoint)
        )
        if self._plan.trigger is Trigger.AVAILABLE_NOW:
            writer = writer.trigger(availableNow=True)
        query = self.query = writer.start()
        try:
            while not query.awaitTermination(0.2):  # type: ignore[arg-type]
                if self._ending and self._is_idle(query):
                    query.stop()
                    return
        finally:
            with suppress(Py4JNetworkError, ConnectionError):
                if query.isActive:
                    query.stop()

    @property
    def _ending(self) -> bool:
        return self._stopping.is_set() or self._rebalancing.is_set()

    def _is_idle(self, query: StreamingQuery) -> bool:
        status = query.status
        return not status["isTriggerActive"] and not status["isDataAvailable"]

    def _on_batch(self, frame: DataFrame, batch_id: int) -> None:
        if self._ending:
            raise InterruptedError(_END_REQUESTED)
        begun = time.perf_counter()
        reports = [TaskReport.from_json(text) for row in frame.collect() for text in json.loads(row["reports"])]
        self._progressed.set()
        self._observer(
            batch_id, time.perf_counter() - begun, sorted(reports, key=lambda report: (report.stage, report.task))
        )


def _stop_message(text: str) -> str | None:
    found = re.search(rf"\[{re.escape(STOP_MARK)}\] ([^\n]+)", text)
    return found.group(1).strip() if found else None


def _cause(text: str) -> str:
    """Give the line of a Python or Java failure that says most."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "File "))
    ]
    lines = [_PREFIX.sub("", line) for line in lines]
    named = [line for line in lines if re.match(r"^[\w.]*(Error|Exception|Unavailable)\b.*: .+", line)]
    return (named[-1] if named else lines[0] if lines else "unknown")[:500]
