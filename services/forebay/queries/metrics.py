"""Metrics of a query server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from forebay.http.former_names import keep_former_name

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class QueryMetrics:
    """Metrics of a query server; names begin with `forebay_queries_`, times are in seconds."""

    def __init__(self, service: str, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"forebay_queries_{name}", text, ("service",), registry=registry)

        labels = ("service", "store", "status")
        self._requests = Counter("forebay_queries_answered", "Queries answered", labels, registry=registry)
        self._seconds = Histogram(
            "forebay_queries_seconds",
            "Duration of pull queries",
            ("service", "store"),
            registry=registry,
            buckets=_SECONDS,
        )
        self._service = service
        self.rows = gauge("rows", "Rows of the server's stores").labels(service)
        self.subscribers = gauge("subscribers", "Push queries that are open").labels(service)
        caught_up = gauge("caught_up_timestamp_seconds", "When the stores were last up to date")
        keep_former_name(registry, caught_up, "forebay_queries_current_timestamp_seconds")
        self.caught_up = caught_up.labels(service)

    def count_answer(self, store: str, status: int, seconds: float) -> None:
        """Count a response. `store` is "" if the path contains no store."""
        self._requests.labels(self._service, store, str(status)).inc()
        self._seconds.labels(self._service, store).observe(seconds)
