"""Metrics of a query server."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class QueryMetrics:
    """Metrics of a query server; names begin with `forebay_queries_`, times are in seconds."""

    def __init__(self, service: str, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str) -> Any:
            return Gauge(f"forebay_queries_{name}", text, ("service",), registry=registry).labels(service)

        labels = ("service", "store", "status")
        self._requests = Counter("forebay_queries_answered", "Queries answered", labels, registry=registry)
        self._seconds = Histogram(
            "forebay_queries_seconds", "Time a pull took", ("service", "store"), registry=registry, buckets=_SECONDS
        )
        self._service = service
        self.rows = gauge("rows", "Rows held")
        self.subscribers = gauge("subscribers", "Pushes that are followed now")
        self.current = gauge("current_timestamp_seconds", "When the stores were last up to date")

    def count_answer(self, store: str, status: int, seconds: float) -> None:
        """Count an answer; `store` is "" where the path names none."""
        self._requests.labels(self._service, store, str(status)).inc()
        self._seconds.labels(self._service, store).observe(seconds)
