"""The declaration of the service windowed-metrics."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="windowed-metrics",
    summary="statistics and alert states of each server's metrics in windows of five minutes",
    job="windowed_metrics.job",
    columns="windowed_metrics.columns",
)
