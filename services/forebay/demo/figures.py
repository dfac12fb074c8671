"""A job's key statistics, read from its metrics (names: forebay.runtime.observability.metrics)."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.demo.samples import Samples
from forebay.runtime.observability.latencies import LAST_MINUTE


@dataclass(frozen=True, slots=True)
class Figures:
    """Counters and gauges of a job since its start.

    Args:
        records_in: records read.
        outputs, errors, late: committed records, by kind.
        duplicates: records that were dropped as duplicates.
        restarts: restarts of the query after failures, and of workers.
        lag: pending records; None: unknown.
        state_rows, state_bytes: rows and bytes of all tasks' tables.
        stream_time_s: smallest stream time of a task, seconds since the epoch; None before the first record.
        commits: commits of tasks.
        latency_p50_s, latency_p95_s: time from a record's append to its commit in the last minute, in seconds; None
            without records.
    """

    records_in: int = 0
    outputs: int = 0
    errors: int = 0
    late: int = 0
    duplicates: int = 0
    restarts: int = 0
    lag: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    stream_time_s: float | None = None
    commits: int = 0
    latency_p50_s: float | None = None
    latency_p95_s: float | None = None


def read_figures(samples: Samples, service: str) -> Figures:
    """Return the statistics of a service's job."""

    def total(name: str, **labels: str) -> int:
        return int(samples.total(f"forebay_{name}", service=service, **labels))

    lags = samples.values("forebay_lag_records", service=service)
    return Figures(
        records_in=total("records_in_total"),
        outputs=total("records_out_total", kind="output"),
        errors=total("records_out_total", kind="errors"),
        late=total("records_out_total", kind="late"),
        duplicates=total("duplicates_total"),
        restarts=total("query_restarts_total") + total("worker_restarts_total"),
        lag=int(sum(lags)) if lags else None,
        state_rows=total("state_rows"),
        state_bytes=total("state_bytes"),
        stream_time_s=min(samples.values("forebay_stream_time_seconds", service=service), default=None),
        commits=total("commits_total"),
        latency_p50_s=next(iter(samples.values(LAST_MINUTE, service=service, quantile="0.5")), None),
        latency_p95_s=next(iter(samples.values(LAST_MINUTE, service=service, quantile="0.95")), None),
    )
