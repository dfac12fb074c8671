"""The logic of windowed-metrics. Rules: docs/services/windowed-metrics.md."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import inf, isfinite

from forebay.bounded import append_bounded
from forebay.operators import Closing, Emission, WindowAggregate, WindowResult
from forebay.processor import Context, IdleClose, LateRecord, Processor, RejectedRecord, Timer
from forebay.stores.keys import FOREVER, join_key, split_key
from forebay.stores.window import WindowStore
from forebay.time import tumbling
from windowed_metrics.model import (
    AGGREGATION_TYPE,
    Alerting,
    AlertState,
    Distribution,
    MetricWindow,
    ProcessingInfo,
    Sampling,
    ServerMetric,
    Statistics,
    Thresholds,
    WindowedMetric,
    WindowKey,
    WindowSpan,
)
from windowed_metrics.settings import EmitResults, WindowedMetricsSettings

RECENT = 3
NORMAL, WARNING, CRITICAL = "normal", "warning", "critical"

_EMISSIONS = {
    EmitResults.EVERY: Emission.UPDATES,
    EmitResults.FINAL: Emission.FINAL,
    EmitResults.BOTH: Emission.BOTH,
}
_EMPTY = MetricWindow(
    server_id="",
    metric_name="",
    unit=None,
    count=0,
    sum=0.0,
    minimum=inf,
    maximum=-inf,
    first_timestamp=FOREVER,
    last_timestamp=-1,
    samples=(),
    datacenters=(),
    environments=(),
    services=(),
    alerting=None,
    latest_metric_id=None,
)
_NO_THRESHOLDS = Thresholds(None, None)


class _Follows(Enum):
    EVENT = "an event that changed the window"
    CLOSE = "the window's close"


class WindowedMetrics(Processor[ServerMetric, WindowedMetric]):
    """Aggregates each server's metrics in tumbling windows. Sends results on change, on close, or both."""

    def __init__(self, settings: WindowedMetricsSettings | None = None) -> None:
        self._settings = settings = settings or WindowedMetricsSettings()
        self._windows = tumbling(settings.window_ms, settings.grace_ms)
        self.windows = WindowStore(
            "metric-windows", MetricWindow, size_ms=settings.window_ms, retention_ms=settings.retention_ms
        )
        self.idle = IdleClose(settings.idle_timeout_ms, settings.window_ms + settings.grace_ms)

    def init(self) -> None:
        """Create the aggregate with the bound store."""
        emission = _EMISSIONS[self._settings.emit_results]
        self._aggregate = WindowAggregate(
            self.windows, self._windows, lambda: _EMPTY, self._add_event, emission=emission
        )
        self._closing = Closing(self.windows.marks)

    def event_id(self, event: ServerMetric) -> str | None:
        """Return the measurement's id."""
        return event.metric_id

    def record_key(self, name: str, key: str) -> str | None:
        """Return the server of a store's key, which consists of server and metric."""
        return split_key(key)[0] if name == self.windows.name else key

    def process(self, event: ServerMetric, ctx: Context[WindowedMetric]) -> None:
        """Add the event to its window, and send the window's results."""
        ts = event.timestamp
        if ts < 1:
            raise RejectedRecord(f"timestamp is {ts}: the producer must send milliseconds since the epoch, above 0")
        if not event.metric_name:
            raise RejectedRecord("metric_name is empty: the producer must name what was measured")
        if not isfinite(event.value):
            raise RejectedRecord(f"value is {event.value}: the producer must send a finite number")
        key = join_key(ctx.key, event.metric_name)
        outcome = self._aggregate.process(key, event, ts, ctx.closing_time)
        if outcome.refused:
            raise LateRecord(outcome.late_by_ms)
        for update in outcome.updates:
            ctx.forward(_result(update, _Follows.EVENT, ctx.current_stream_time))
        self._send_finals(outcome.finals, ctx)
        if outcome.closes_at is not None:
            self._closing.watch(ctx, outcome.closes_at)

    def on_timer(self, timer: Timer, ctx: Context[WindowedMetric]) -> None:
        """Send the windows that closed."""
        self._send_finals(self._aggregate.close(ctx.closing_time), ctx)
        self._closing.schedule_next(ctx, self._aggregate.next_close())

    def _send_finals(self, finals: Iterable[WindowResult[MetricWindow]], ctx: Context[WindowedMetric]) -> None:
        for final in finals:
            value = _result(final, _Follows.CLOSE, self._windows.closes_at(final.window))
            ctx.forward(value, value.server_id, final.timestamp)

    def _add_event(self, key: str, event: ServerMetric, window: MetricWindow) -> MetricWindow:
        value, ts, limit = event.value, event.timestamp, self._settings.list_limit
        total = window.sum + value
        if not isfinite(total):
            raise RejectedRecord(
                f"value is {value}: with it the sum of its window, {window.sum}, is beyond a double's range"
            )
        server_id = window.server_id if window.count else split_key(key)[0]
        newest = ts >= window.last_timestamp
        datacenters, environments, services = window.datacenters, window.environments, window.services
        if event.datacenter and event.datacenter not in datacenters:
            datacenters = append_bounded(datacenters, event.datacenter, limit)
        if event.environment and event.environment not in environments:
            environments = append_bounded(environments, event.environment, limit)
        if event.service and event.service not in services:
            services = append_bounded(services, event.service, limit)
        return MetricWindow(
            server_id=server_id,
            metric_name=event.metric_name,
            unit=event.unit if newest else window.unit,
            count=window.count + 1,
            sum=total,
            minimum=value if value < window.minimum else window.minimum,
            maximum=value if value > window.maximum else window.maximum,
            first_timestamp=ts if ts < window.first_timestamp else window.first_timestamp,
            last_timestamp=ts if newest else window.last_timestamp,
            samples=(*window.samples, value)[-self._settings.samples :],
            datacenters=datacenters,
            environments=environments,
            services=services,
            alerting=event.alerting if newest else window.alerting,
            latest_metric_id=event.metric_id,
        )


def _result(result: WindowResult[MetricWindow], follows: _Follows, time: int) -> WindowedMetric:
    window = result.value
    assert window is not None
    start, end = result.window
    average = window.sum / window.count
    rounded = round(average, 2)
    alerting = window.alerting
    samples = window.samples
    return WindowedMetric(
        aggregation_type=AGGREGATION_TYPE,
        server_id=window.server_id,
        metric_name=window.metric_name,
        unit=window.unit,
        window=WindowSpan(
            start_timestamp=start,
            end_timestamp=end,
            duration_ms=end - start,
            actual_duration_ms=window.last_timestamp - window.first_timestamp,
            window_key=WindowKey(window.server_id, window.metric_name, start),
        ),
        statistics=Statistics(
            count=window.count,
            average=rounded,
            minimum=round(window.minimum, 2),
            maximum=round(window.maximum, 2),
            sum=round(window.sum, 2),
            range=round(window.maximum - window.minimum, 2),
        ),
        alerting=AlertState(
            _status(average, alerting),
            _NO_THRESHOLDS if alerting is None else Thresholds(alerting.threshold_high, alerting.threshold_critical),
            rounded,
        ),
        distribution=Distribution(window.datacenters, window.environments, window.services),
        sampling=Sampling(samples[-RECENT:], len(samples)),
        processing_info=ProcessingInfo(
            follows is _Follows.EVENT, follows is _Follows.CLOSE, window.latest_metric_id, time
        ),
    )


def _status(average: float, alerting: Alerting | None) -> str:
    if alerting is None or not alerting.enabled:
        return NORMAL
    high, critical = alerting.threshold_high, alerting.threshold_critical
    if critical is not None and average >= critical:
        return CRITICAL
    return WARNING if high is not None and average >= high else NORMAL
