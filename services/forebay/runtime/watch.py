"""Watches a job from beside it: lag of its input partitions, signs of life of its query."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from forebay.catalog import find_service
from forebay.runtime.broker import BrokerView
from forebay.runtime.errors import StopJob, Unavailable
from forebay.runtime.health import Health
from forebay.runtime.metrics import JobMetrics
from forebay.runtime.query import JobRunner
from forebay.runtime.rights import JobRights
from forebay.runtime.spec import JobSpec

log = logging.getLogger(__name__)

_RIGHTS_SECONDS = 10.0


class Watcher:
    """Looks at the job every few seconds, on a thread of its own.

    Args:
        rights: explains what the broker refuses, and is asked now and then: some refusals just look like silence.
    """

    def __init__(
        self,
        spec: JobSpec,
        runner: JobRunner,
        metrics: JobMetrics,
        health: Health,
        rights: JobRights,
        seconds: float = 2.0,
    ) -> None:
        topics = tuple(topic.name for topic in find_service(spec.service).inputs)
        probe = Consumer(spec.kafka.consumer(**{"group.id": spec.probe_group}))
        self._broker = BrokerView(AdminClient(spec.kafka.admin()), probe, topics, timeout=5.0)
        self._runner, self._metrics, self._health, self._seconds = runner, metrics, health, seconds
        self._rights, self._told = rights, ""
        self._rights_looked_at = time.monotonic()
        self._waiting = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End, within seconds."""
        self._closed.set()
        self._thread.join(10.0)

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds):
            self._guarded(self._look_at_query)
            self._guarded(self._look_at_lag)
            if time.monotonic() - self._rights_looked_at > _RIGHTS_SECONDS:
                self._guarded(self._look_at_rights)

    def _guarded(self, look: Callable[[], None]) -> None:
        try:
            look()
        except (Unavailable, StopJob) as error:
            self._health.failing(self._rights.explain(str(error)))
        except Exception as error:
            log.debug("watching failed: %s", error)

    def _look_at_query(self) -> None:
        query, self._waiting = self._runner.query, False
        if query is None or not query.isActive:
            return
        status = query.status
        self._waiting = status["message"].startswith("Waiting for")
        if not status["isTriggerActive"] or not status["isDataAvailable"]:
            self._health.progressed()

    def _look_at_rights(self) -> None:
        trouble = self._rights.trouble()
        self._rights_looked_at = time.monotonic()
        if trouble:
            self._health.failing(trouble)
        if trouble != self._told:
            log.warning("%s", trouble or "the broker lets us do everything again")
            self._told = trouble

    def _look_at_lag(self) -> None:
        latest = self._broker.latest()
        if self._waiting:
            self._health.idle()
        query = self._runner.query
        progress = query.lastProgress if query is not None else None
        if progress is None:
            return
        end: Any = progress.sources[0].endOffset
        position = json.loads(end) if isinstance(end, str) else end
        ends = position.get("ends", {}) if position else {}
        self._metrics.observe_lag(
            {
                (topic, partition): max(0, latest_end - ends[topic][partition])
                for topic, values in latest.items()
                for partition, latest_end in enumerate(values)
                if partition < len(ends.get(topic, ()))
            }
        )
