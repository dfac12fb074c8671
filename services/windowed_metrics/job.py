"""The job of windowed-metrics."""

from __future__ import annotations

from forebay.job import Job
from windowed_metrics.logic import WindowedMetrics
from windowed_metrics.model import ServerMetric, WindowedMetric
from windowed_metrics.settings import WindowedMetricsSettings

JOB = Job(
    inputs={"server_metrics": ServerMetric},
    outputs={"windowed_metrics": WindowedMetric},
    settings=WindowedMetricsSettings,
    processor=WindowedMetrics,
)
