"""The entry of windowed-metrics in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from windowed_metrics.job import JOB

SERVICE = declare(
    JOB,
    name="windowed-metrics",
    summary="statistics and alert states of each server's metrics in windows of five minutes",
    module="windowed_metrics.job",
    columns="windowed_metrics.columns",
)
