"""The columns of windowed-metrics' results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column, clock

COLUMNS = {
    "windowed_metrics": (
        Column("server", "server_id", 12),
        Column("metric", "metric_name", 16),
        Column("window", "window.start_timestamp", 8, clock),
        Column("count", "statistics.count", 6),
        Column("average", "statistics.average", 9),
        Column("status", "alerting.status", 8),
        Column("minimum", "statistics.minimum", 9),
        Column("maximum", "statistics.maximum", 9),
        Column("unit", "unit", 8),
    ),
}
