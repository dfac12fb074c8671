"""What a job's tasks tell their driver, read along: the figures of each task, without a page of the job."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from prometheus_client import generate_latest

from forebay.kafka.errors import failed
from forebay.kafka.identities import control_group
from forebay.runtime.changelog import internal_topic
from forebay.runtime.metrics import JobMetrics
from forebay.runtime.task.figures import TaskFigures

_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Reports:
    """The tasks' last reports, and what a group waits for; "" for nothing."""

    figures: tuple[TaskFigures, ...] = ()
    trouble: str = ""

    @property
    def told_at_ms(self) -> int:
        """When the last of them was told, ms since the epoch; 0: never."""
        return max((item.at for item in self.figures), default=0)

    @property
    def opened_ms(self) -> int:
        """When the first of the groups was opened, ms since the epoch; 0: never."""
        return min((item.opened for item in self.figures), default=0)


class ReportReader:
    """Reads tasks' reports; one connection serves all jobs.

    Args:
        admin: makes the connection, once it is needed.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def read(self, application: str, stages: int) -> Reports:
        """Return a job's reports. Raises Unavailable."""
        group = control_group(application)
        asked = [ConsumerGroupTopicPartitions(group)]
        try:
            answers = self._admin.list_consumer_group_offsets(asked, request_timeout=_SECONDS)
            found: Any = answers[group].result(_SECONDS)
        except (KafkaException, TimeoutError) as error:
            if isinstance(error, KafkaException):
                raise failed(error.args[0], f"the group {group} can't be read") from error
            raise failed(error, f"the group {group} can't be read") from error  # type: ignore[arg-type]
        return reports_of(found.topic_partitions, {internal_topic(application, stage) for stage in range(stages)})


def reports_of(places: list[TopicPartition], topics: set[str]) -> Reports:
    """Return what the offsets of a control group tell of tasks."""
    figures: list[TaskFigures] = []
    trouble = ""
    for place in places:
        if place.topic not in topics or not place.metadata or place.error is not None:
            continue
        try:
            told = json.loads(place.metadata)
            figures.append(TaskFigures.from_json(told["figures"]))
        except (ValueError, KeyError, TypeError):
            continue  # a report of another release: what it tells is no longer known
        trouble = trouble or told.get("trouble", "")
    return Reports(tuple(sorted(figures, key=lambda item: (item.part, item.task))), trouble)


class ReportedMetrics:
    """Metrics of a job that serves none, made from its tasks' reports as its driver would."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._metrics: JobMetrics | None = None
        self._opened = 0

    def page(self, reports: Reports) -> str:
        """Take in reports; return the /metrics page, whose counters begin where the job was first seen."""
        if self._metrics is None or reports.opened_ms > self._opened:
            self._metrics, self._opened = JobMetrics(self._service, since_ms=0), reports.opened_ms
        self._metrics.observe(reports.figures)
        return generate_latest(self._metrics.registry).decode()
