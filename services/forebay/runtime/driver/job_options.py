"""The operator's options for a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forebay.catalog import MAX_DOWNTIME_MS
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver.plan import Plan
from forebay.runtime.driver.restore import Restore
from forebay.runtime.driver.session import SparkOptions


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The operator's options for a job; `engine` holds fields of JobSpec.

    Args:
        service: name in the table of services.
        application: "" for the service's name.
        tasks: 0 for as many as the input has partitions.
        groups: task groups; 0 for as many as Spark has slots.
        topics: the broker's names of inputs and outputs, if the service declares others.
        restore: whether to restore the state from the changelogs.
        max_downtime_ms: longest downtime to survive with compacted inputs; 0: not checked.
        http_host, http_port: address of health and metrics; port 0: a free port; -1: they are not served.
        home: directory for the events of the job; None: they are not stored.
        admit: called before the job starts; raises StopJob if it may not run, Unavailable if this is not known yet.
    """

    service: str
    kafka: KafkaSettings
    plan: Plan
    application: str = ""
    tasks: int = 0
    groups: int = 0
    logic: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    spark: SparkOptions = field(default_factory=SparkOptions)
    restore: Restore = Restore.NO
    max_downtime_ms: int = MAX_DOWNTIME_MS
    http_host: str = "127.0.0.1"
    http_port: int = -1
    topics: Mapping[str, str] = field(default_factory=dict)
    home: Path | None = None
    admit: Callable[[], None] = lambda: None
