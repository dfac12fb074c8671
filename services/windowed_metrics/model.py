"""Records of the service, which match the contracts in avro/windowed-metrics field by field."""

from __future__ import annotations

from forebay.records import Record

AGGREGATION_TYPE = "WINDOW_AGGREGATION"


class Alerting(Record):
    """The alert thresholds of a window's average. A threshold of None is never reached."""

    enabled: bool = False
    threshold_high: float | None = None
    threshold_critical: float | None = None


class ServerMetric(Record):
    """A measurement of a server (topic server_metrics). Times in ms."""

    metric_id: str | None
    metric_name: str
    value: float
    unit: str | None
    timestamp: int
    datacenter: str | None = None
    environment: str | None = None
    service: str | None = None
    alerting: Alerting | None = None


class MetricWindow(Record):
    """State per server, metric and window (store metric-windows). Times in ms, values not rounded."""

    server_id: str
    metric_name: str
    unit: str | None
    count: int
    sum: float
    minimum: float
    maximum: float
    first_timestamp: int
    last_timestamp: int
    samples: tuple[float, ...]
    datacenters: tuple[str, ...]
    environments: tuple[str, ...]
    services: tuple[str, ...]
    alerting: Alerting | None
    latest_metric_id: str | None


class WindowKey(Record):
    """The key of a window."""

    server_id: str
    metric_name: str
    start_timestamp: int


class WindowSpan(Record):
    """A window [start, end) in ms, and the span of its events."""

    start_timestamp: int
    end_timestamp: int
    duration_ms: int
    actual_duration_ms: int
    window_key: WindowKey


class Statistics(Record):
    """Statistics of a window's events so far, rounded to 2 decimals."""

    count: int
    average: float
    minimum: float
    maximum: float
    sum: float
    range: float


class Thresholds(Record):
    """The newest event's thresholds."""

    high: float | None
    critical: float | None


class AlertState(Record):
    """The alert status of a window's average: critical, warning or normal."""

    status: str
    thresholds: Thresholds
    current_average: float


class Distribution(Record):
    """The origins of a window's events."""

    datacenters: tuple[str, ...]
    environments: tuple[str, ...]
    services: tuple[str, ...]


class Sampling(Record):
    """The latest values, and the number of values in the state."""

    recent_values: tuple[float, ...]
    total_samples: int


class ProcessingInfo(Record):
    """The cause of a result. Times in ms."""

    window_updated: bool
    window_final: bool
    latest_metric_id: str | None
    processing_timestamp: int


class WindowedMetric(Record):
    """A window after an event, or when it is final (topic windowed_metrics)."""

    aggregation_type: str
    server_id: str
    metric_name: str
    unit: str | None
    window: WindowSpan
    statistics: Statistics
    alerting: AlertState
    distribution: Distribution
    sampling: Sampling
    processing_info: ProcessingInfo
