"""An independent implementation of the service's rules, with which every output is compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]
Window = tuple[int, str, str]
"""Start in ms, server and metric. Final results are sent in this order."""

REQUIRED: dict[str, type | tuple[type, ...]] = {"metric_name": str, "value": (int, float), "timestamp": int}


def replay(
    records: Iterable[Record],
    window_ms: int = 300_000,
    grace_ms: int = 60_000,
    retention_ms: int = 3_600_000,
    emit_results: str = "every",
    idle_timeout_ms: int = 0,
    samples: int = 10,
    list_limit: int = 100,
    dedupe_retention_ms: int = 600_000,
    idle_ms: int = 0,
) -> tuple[list[Output], dict[Window, Value]]:
    """Return the outputs in order, and the windows in the store, after one task has processed `records` in this order.

    Args:
        idle_ms: Time for which the topic is idle after the last record.
    """
    task = Replay(
        window_ms, grace_ms, retention_ms, emit_results, idle_timeout_ms, samples, list_limit, dedupe_retention_ms
    )
    for key, value, timestamp in records:
        task.take(key, value, timestamp)
    task.idle(idle_ms)
    return task.outputs, task.stored_windows()


class Replay:
    """One task, whose windows are in a dict that is scanned completely whenever time advances."""

    def __init__(
        self,
        window_ms: int,
        grace_ms: int,
        retention_ms: int,
        emit_results: str,
        idle_timeout_ms: int,
        samples: int,
        list_limit: int,
        dedupe_retention_ms: int,
    ) -> None:
        self.window_ms = window_ms
        self.grace_ms = grace_ms
        self.retention_ms = retention_ms
        self.every = emit_results in ("every", "both")
        self.final = emit_results in ("final", "both")
        self.idle_timeout_ms = idle_timeout_ms
        self.samples = samples
        self.list_limit = list_limit
        self.stream_time = -1
        self.closing_time = -1
        self.windows: dict[Window, Value] = {}
        self.open: set[Window] = set()
        self.accepted = Repetitions(dedupe_retention_ms)
        self.outputs: list[Output] = []
        self.late: list[tuple[str, Value, int]] = []

    def take(self, key: str | None, value: Value | None, timestamp: int) -> None:
        """Process one record."""
        if (
            key is None
            or value is None
            or timestamp < 0
            or not all(isinstance(value.get(name), kind) for name, kind in REQUIRED.items())
            or isinstance(value["value"], bool)
        ):
            return
        time = max(self.stream_time, timestamp)
        metric_id = value.get("metric_id")
        if self.accepted.known(metric_id, time):
            return
        self.stream_time = time
        self.closing_time = max(self.closing_time, time)
        self.close()
        if timestamp == 0 or value["metric_name"] == "" or not math.isfinite(value["value"]):
            return
        start = timestamp - timestamp % self.window_ms
        closed_since = self.closing_time - self.grace_ms - (start + self.window_ms)
        if closed_since >= 0:
            self.late.append((key, value, closed_since))
            return
        if self.add((start, key, value["metric_name"]), value):
            self.accepted.accept(metric_id, time)

    def idle(self, idle_ms: int) -> None:
        """Advance time as if the topic had been idle for this time since the last record."""
        timed_out = 0 < self.idle_timeout_ms <= idle_ms
        horizon = max(idle_ms, self.window_ms + self.grace_ms) if timed_out else idle_ms
        until = self.stream_time + horizon
        if any(start + self.window_ms + self.grace_ms <= until for start, _, _ in self.open):
            self.closing_time = max(self.closing_time, until)
            self.close()

    def stored_windows(self) -> dict[Window, Value]:
        """Return the windows that are still in the store."""
        newest = max((start for start, _, _ in self.windows), default=0)
        return {window: state for window, state in self.windows.items() if window[0] > newest - self.retention_ms}

    def add(self, window: Window, value: Value) -> bool:
        _, server, name = window
        state = self.windows.get(window) or new_state(server, name, value)
        total = state["sum"] + value["value"]
        if not math.isfinite(total):
            return False
        self.windows[window] = state
        state["count"] += 1
        state["sum"] = total
        state["minimum"] = min(state["minimum"], value["value"])
        state["maximum"] = max(state["maximum"], value["value"])
        state["first_timestamp"] = min(state["first_timestamp"], value["timestamp"])
        if value["timestamp"] >= state["last_timestamp"]:
            state["last_timestamp"] = value["timestamp"]
            state["unit"] = value.get("unit")
            state["alerting"] = value.get("alerting")
        state["samples"] = [*state["samples"], value["value"]][-self.samples :]
        for names, item in (("datacenters", "datacenter"), ("environments", "environment"), ("services", "service")):
            if value.get(item) and value[item] not in state[names]:
                state[names] = [*state[names], value[item]][-self.list_limit :]
        state["latest_metric_id"] = value.get("metric_id")
        if self.final:
            self.open.add(window)
        if self.every:
            self.outputs.append((server, self.result(window, self.stream_time, final=False), value["timestamp"]))
        return True

    def close(self) -> None:
        for window in sorted(self.open):
            end = window[0] + self.window_ms
            if end + self.grace_ms <= self.closing_time:
                self.open.remove(window)
                result = self.result(window, end + self.grace_ms, final=True)
                self.outputs.append((window[1], result, self.windows[window]["last_timestamp"]))

    def result(self, window: Window, time: int, *, final: bool) -> Value:
        start, server, name = window
        state = self.windows[window]
        average = state["sum"] / state["count"]
        alerting = state["alerting"] or {"enabled": False, "threshold_high": None, "threshold_critical": None}
        status = "normal"
        if alerting["enabled"]:
            for level, threshold in (("warning", "threshold_high"), ("critical", "threshold_critical")):
                if alerting[threshold] is not None and average >= alerting[threshold]:
                    status = level
        return {
            "aggregation_type": "WINDOW_AGGREGATION",
            "server_id": server,
            "metric_name": name,
            "unit": state["unit"],
            "window": {
                "start_timestamp": start,
                "end_timestamp": start + self.window_ms,
                "duration_ms": self.window_ms,
                "actual_duration_ms": state["last_timestamp"] - state["first_timestamp"],
                "window_key": {"server_id": server, "metric_name": name, "start_timestamp": start},
            },
            "statistics": {
                "count": state["count"],
                "average": round(average, 2),
                "minimum": round(state["minimum"], 2),
                "maximum": round(state["maximum"], 2),
                "sum": round(state["sum"], 2),
                "range": round(state["maximum"] - state["minimum"], 2),
            },
            "alerting": {
                "status": status,
                "thresholds": {"high": alerting["threshold_high"], "critical": alerting["threshold_critical"]},
                "current_average": round(average, 2),
            },
            "distribution": {name: list(state[name]) for name in ("datacenters", "environments", "services")},
            "sampling": {"recent_values": state["samples"][-3:], "total_samples": len(state["samples"])},
            "processing_info": {
                "window_updated": not final,
                "window_final": final,
                "latest_metric_id": state["latest_metric_id"],
                "processing_timestamp": time,
            },
        }


def new_state(server: str, name: str, value: Value) -> Value:
    return {
        "server_id": server,
        "metric_name": name,
        "unit": None,
        "count": 0,
        "sum": 0.0,
        "minimum": value["value"],
        "maximum": value["value"],
        "first_timestamp": value["timestamp"],
        "last_timestamp": value["timestamp"],
        "samples": [],
        "datacenters": [],
        "environments": [],
        "services": [],
        "alerting": None,
        "latest_metric_id": None,
    }
