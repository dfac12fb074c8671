"""An independent implementation of the service's rules, with which every output is compared.

A device is the list of its reports, and its status and temperature are the latest ones in this list.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import Any

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]

REQUIRED: dict[str, Any] = {"event_type": str, "value": (str, float), "timestamp": int}
STATUS = {"sensor_reading": "active", "heartbeat": "online", "error": "error"}
NOTHING = dict.fromkeys(
    ("temperature", "threshold", "error_code", "error_count", "heartbeat_count", "last_seen", "silent_ms")
)


def replay(
    records: Iterable[Record],
    temperature_threshold: float = 75.0,
    heartbeat_every: int = 10,
    offline_after_ms: int = 300_000,
    realert_after_ms: int = 0,
    dedupe_retention_ms: int = 600_000,
    until: int | None = None,
) -> tuple[list[Output], dict[str, dict[str, Value]]]:
    """Return the outputs in order, and each store's content, after one task has processed `records` in this order.

    Args:
        until: Time (ms) of the idle task's clock after the last record. Devices that are silent for too long by then
            go offline.
    """
    task = Task(temperature_threshold, heartbeat_every, offline_after_ms, realert_after_ms, dedupe_retention_ms)
    for key, value, timestamp in records:
        task.take(key, value, timestamp)
    if until is not None:
        task.look_for_silent_devices(until)
    return task.outputs, {"devices": {key: task.state(key) for key in sorted(task.devices)}}


class Task:
    def __init__(self, threshold: float, every: int, offline_after: int, realert_after: int, retention: int) -> None:
        self.threshold = threshold
        self.every = every
        self.offline_after = offline_after
        self.realert_after = realert_after
        self.retention = retention
        self.stream_time = -1
        self.devices: dict[str, Value] = {}
        self.due: list[tuple[int, str]] = []
        self.outputs: list[Output] = []
        self.seen: dict[str, int] = {}

    def take(self, key: str | None, value: Value | None, timestamp: int) -> None:
        if key is None or value is None or timestamp < 0:
            return
        if not all(isinstance(value.get(name), kind) for name, kind in REQUIRED.items()):
            return
        time = max(self.stream_time, timestamp)
        event_id = value.get("event_id")
        if self.retention and event_id is not None and self.known_until(event_id) > time:
            return
        self.stream_time = time
        self.look_for_silent_devices(time)
        if not makes_sense(value):
            return
        if event_id is not None:
            self.seen[event_id] = time
        self.count(key, value)

    def known_until(self, event_id: str) -> int:
        """Return when (ms) an id expires, or -1 if it is unknown.

        An id is stored in a bucket of a tenth of the retention. The bucket expires one retention after its end.
        """
        if event_id not in self.seen:
            return -1
        bucket_ms = max(1, self.retention // 10)
        return (self.seen[event_id] // bucket_ms + 1) * bucket_ms + self.retention

    def count(self, key: str, value: Value) -> None:
        ts, kind = value["timestamp"], value["event_type"]
        device = self.devices.setdefault(key, new_device())
        earlier = device["last_seen"]
        status = as_text(value["value"]) if kind == "status_update" else STATUS.get(kind)
        places = {name: value.get(name) or device[name] for name in ("facility", "zone")}
        origin = {"event_id": value.get("event_id"), **places}

        if device["offline"] is not None and ts > earlier and not self.would_be_silent(ts):
            device["offline"] = None
            status = status or "online"
            self.send(key, "ONLINE", ts, status, origin, last_seen=earlier, silent_ms=ts - earlier)
        device["last_seen"] = max(earlier, ts)
        if self.offline_after and device["offline"] is None:
            heapq.heappush(self.due, (device["last_seen"] + self.offline_after, key))
        if status is not None and device["offline"] is None:
            device["statuses"].append((ts, len(device["statuses"]), status))
        for name, place in places.items():
            if ts >= earlier or not device[name]:
                device[name] = place

        if kind == "sensor_reading":
            temperature = float(value["value"])
            device["readings"].append((ts, len(device["readings"]), temperature))
            last = device["alerted"]
            if temperature > self.threshold and (last is None or abs(ts - last) >= self.realert_after):
                device["alerted"] = ts if last is None else max(last, ts)
                limits = {"temperature": temperature, "threshold": self.threshold}
                self.send(key, "TEMPERATURE_ALERT", ts, "active", origin, **limits)
        elif kind == "status_update":
            self.send(key, "STATUS_UPDATE", ts, as_text(value["value"]), origin)
        elif kind == "error":
            device["errors"] += 1
            code = as_text(value["value"])
            self.send(key, "ERROR", ts, "error", origin, error_code=code, error_count=device["errors"])
        elif kind == "heartbeat":
            device["heartbeats"] += 1
            if device["heartbeats"] % self.every == 0:
                self.send(key, "HEARTBEAT_SUMMARY", ts, "online", origin, heartbeat_count=device["heartbeats"])

    def would_be_silent(self, last_seen: int) -> bool:
        return self.offline_after > 0 and last_seen + self.offline_after <= self.stream_time

    def look_for_silent_devices(self, time: int) -> None:
        while self.due and self.due[0][0] <= time:
            due, key = heapq.heappop(self.due)
            device = self.devices[key]
            last_seen = device["last_seen"]
            if device["offline"] is not None or last_seen + self.offline_after != due:
                continue
            device["offline"] = due
            origin = {"event_id": None, "facility": device["facility"], "zone": device["zone"]}
            self.send(key, "OFFLINE", due, "offline", origin, last_seen=last_seen, silent_ms=due - last_seen)

    def state(self, key: str) -> Value:
        device = self.devices[key]
        status_at, _, status = max(device["statuses"], default=(None, 0, "unknown"))
        last_temp_at, _, last_temp = max(device["readings"], default=(None, 0, None))
        return {
            "status": status if device["offline"] is None else "offline",
            "status_at": status_at,
            "last_temp": last_temp,
            "last_temp_at": last_temp_at,
            "error_count": device["errors"],
            "heartbeat_count": device["heartbeats"],
            "last_seen": device["last_seen"],
            "facility": device["facility"],
            "zone": device["zone"],
            "alerted_at": device["alerted"],
            "offline_since": device["offline"],
            "watched": device["offline"] is None and self.offline_after > 0,
        }

    def send(self, key: str, alert_type: str, ts: int, status: str, origin: Value, **fields: Any) -> None:
        head = {"alert_type": alert_type, "device_id": key, "timestamp": ts, "status": status}
        self.outputs.append((key, {**head, **origin, **NOTHING, **fields}, ts))


def new_device() -> Value:
    return {
        "statuses": [],
        "readings": [],
        "errors": 0,
        "heartbeats": 0,
        "last_seen": -1,
        "facility": None,
        "zone": None,
        "alerted": None,
        "offline": None,
    }


def makes_sense(value: Value) -> Any:
    match value["event_type"], value["value"]:
        case "", _:
            return False
        case "sensor_reading", str(text):
            return text.isascii() and set(text) <= set("0123456789.eE+-") and is_finite(text)
        case "sensor_reading" | "status_update" | "error", float(number):
            return math.isfinite(number)
        case "status_update" | "error", text:
            return text != ""
    return True


def is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def as_text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value == math.floor(value) and abs(value) < 1e15 else repr(value)
