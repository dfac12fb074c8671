"""A standby's figures for Prometheus, and whether it follows."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

from forebay.http.health import Health
from forebay.runtime.maintenance.follower import Follower


class StandbyMetrics:
    """What a standby's copies hold and lack; names begin with `forebay_standby_`.

    Args:
        service: label of every metric.
    """

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self.health = Health()

        def gauge(name: str, text: str) -> Gauge:
            gauge = Gauge(f"forebay_standby_{name}", text, ("service",), registry=self.registry)
            return gauge.labels(service)

        self._lag = gauge("lag_records", "Records of the changelogs that the copies lack")
        self._rows = gauge("rows", "Rows of the copies")
        self._at = gauge("last_round_timestamp_seconds", "When the copies last had all there was")

    def follow(self, follower: Follower) -> None:
        """Show this follower's lag from now on."""
        self._lag.set_function(lambda: float(follower.lag))

    def observe(self, rows: int) -> None:
        """Note that a round is over, and the rows that the copies hold."""
        self._rows.set(rows)
        self._at.set_to_current_time()
        self.health.working()
