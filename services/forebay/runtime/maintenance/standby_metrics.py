"""Metrics of a standby for Prometheus, and its health."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

from forebay.http.former_names import keep_former_name
from forebay.http.health import Health
from forebay.runtime.maintenance.follower import Follower


class StandbyMetrics:
    """Metrics of a standby's copies; names begin with `forebay_standby_`.

    Args:
        service: label of every metric.
    """

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self.health = Health()

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"forebay_standby_{name}", text, ("service",), registry=self.registry)

        self._lag = gauge("lag_records", "Records of the changelogs that the copies lack").labels(service)
        self._rows = gauge("rows", "Rows of the copies").labels(service)
        caught_up = gauge("caught_up_timestamp_seconds", "When the copies were last complete")
        keep_former_name(self.registry, caught_up, "forebay_standby_last_round_timestamp_seconds")
        self._caught_up = caught_up.labels(service)

    def follow(self, follower: Follower) -> None:
        """Show this follower's lag from now on."""
        self._lag.set_function(lambda: float(follower.lag))

    def observe(self, rows: int) -> None:
        """Record that a round has ended, and the number of rows of the copies."""
        self._rows.set(rows)
        self._caught_up.set_to_current_time()
        self.health.working()
