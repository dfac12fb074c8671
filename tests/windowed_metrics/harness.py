"""A test driver for the service, and measurements for it."""

from __future__ import annotations

from typing import Any

from forebay.stores.keys import split_key
from forebay.testing import Forwarded, TestDriver
from tests.plain import plain
from windowed_metrics.model import Alerting, MetricWindow, ServerMetric, WindowedMetric
from windowed_metrics.settings import EmitResults, WindowedMetricsSettings

START = 1_735_689_600_000
SECOND = 1000
MINUTE = 60 * SECOND
STORE = "metric-windows"
WALL_CLOCK = 1 << 52
"""Time of a driver's clock in ms."""

Output = Forwarded[WindowedMetric]


def driver(engine: dict[str, Any] | None = None, **settings: Any) -> TestDriver:
    """Return a test driver with these settings of the service."""
    return TestDriver("windowed-metrics", settings=WindowedMetricsSettings(**settings), **(engine or {}))


def finals(**settings: Any) -> TestDriver:
    """Return a test driver of the service that sends only final results."""
    return driver(emit_results=EmitResults.FINAL, **settings)


def metric(at: int, value: float = 50.0, name: str = "cpu_usage", **fields: Any) -> ServerMetric:
    """Return a measurement `at` ms after START, which is the start of a window."""
    values: dict[str, Any] = {
        "metric_id": None,
        "metric_name": name,
        "value": value,
        "unit": "percent",
        "timestamp": START + at,
        "datacenter": "eu-west",
        "environment": "production",
        "service": "web",
        "alerting": Alerting(True, 80.0, 95.0),
    }
    return ServerMetric(**values | fields)


def pipe(to: TestDriver, at: int, value: float = 50.0, name: str = "cpu_usage", **fields: Any) -> WindowedMetric:
    """Process one measurement of server s1 and return its only result."""
    (output,) = to.pipe("s1", metric(at, value, name, **fields))
    assert (output.key, output.topic) == ("s1", "windowed_metrics")
    assert isinstance(output.value, WindowedMetric)
    return output.value


def states(of: TestDriver) -> dict[tuple[str, str, int], MetricWindow]:
    """Return the windows in the store by server, metric and start (ms after START)."""
    states = {}
    for entry in of.store(STORE):
        server_id, metric_name = split_key(entry.key)
        assert (entry.value.server_id, entry.value.metric_name) == (server_id, metric_name)
        assert entry.timestamp == entry.value.last_timestamp
        states[server_id, metric_name, entry.start - START] = entry.value
    return states


def stored_windows(of: TestDriver) -> dict[tuple[int, str, str], dict[str, Any]]:
    """Return the windows in the store in the replay's form."""
    return {
        (entry.start, entry.value.server_id, entry.value.metric_name): plain(entry.value) for entry in of.store(STORE)
    }


def ends(outputs: list[Output]) -> list[tuple[str, str, int]]:
    """Return server, metric and window start (ms after START) of results, which must be final."""
    assert all(output.value.processing_info.window_final for output in outputs)
    return [(output.key, output.value.metric_name, output.value.window.start_timestamp - START) for output in outputs]
