"""An independent implementation of the service's rules, with which every output is compared."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]

REQUIRED = {"action": str, "session_id": str, "duration_ms": int, "timestamp": int}


def replay(
    records: Iterable[Record],
    idle_timeout_ms: int = 1_800_000,
    list_limit: int = 100,
    dedupe_retention_ms: int = 600_000,
    until: int | None = None,
) -> tuple[list[Output], dict[str, Value]]:
    """Return the outputs in order, and each user's state, after one task has processed `records` in this order.

    Args:
        until: Time (ms) of the task's clock after the last record. Sessions that are idle for too long by then end.
    """
    task = _Task(idle_timeout_ms, list_limit, dedupe_retention_ms)
    for key, value, timestamp in records:
        task.take(key, value, timestamp)
    if until is not None:
        task.end_idle_sessions(until)
    return task.outputs, task.users


class _Task:
    def __init__(self, idle_timeout_ms: int, list_limit: int, dedupe_retention_ms: int) -> None:
        self.idle_timeout_ms = idle_timeout_ms
        self.list_limit = list_limit
        self.retention_ms = dedupe_retention_ms
        self.stream_time = -1
        self.users: dict[str, Value] = {}
        self.outputs: list[Output] = []
        self.due: list[tuple[int, str]] = []
        self.seen: dict[str, int] = {}

    def take(self, key: str | None, value: Value | None, timestamp: int) -> None:
        if (
            key is None
            or value is None
            or timestamp < 0
            or not all(isinstance(value.get(name), kind) for name, kind in REQUIRED.items())
        ):
            return
        time = max(self.stream_time, timestamp)
        event_id = value.get("event_id")
        if self.retention_ms and event_id is not None and self.known_until(event_id) > time:
            return
        self.stream_time = time
        self.end_idle_sessions(time)
        if value["action"] == "" or value["session_id"] == "" or value["duration_ms"] < 0:
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
        bucket_ms = max(1, self.retention_ms // 10)
        return (self.seen[event_id] // bucket_ms + 1) * bucket_ms + self.retention_ms

    def count(self, key: str, value: Value) -> None:
        ts = value["timestamp"]
        user = self.users.setdefault(key, new_user(ts))
        session = user["current_session"]
        ended = None
        if session is not None and session["session_id"] != value["session_id"]:
            ended = session
            session = None
            user["total_sessions"] += 1
        if session is None:
            session = {"session_id": value["session_id"], "started_at": ts, "last_activity": ts}
            session |= {"actions": 0, "duration_ms": 0}
            user["current_session"] = session
        session["started_at"] = min(session["started_at"], ts)
        session["last_activity"] = max(session["last_activity"], ts)
        session["actions"] += 1
        session["duration_ms"] += value["duration_ms"]
        if self.idle_timeout_ms:
            heapq.heappush(self.due, (session["last_activity"] + self.idle_timeout_ms, key))

        user["total_time_ms"] += value["duration_ms"]
        user["first_seen"] = min(user["first_seen"], ts)
        user["last_activity"] = max(user["last_activity"], ts)
        country = (value.get("location") or {}).get("country")
        for name, item in (
            ("devices_used", value.get("device_type")),
            ("browsers_used", value.get("browser")),
            ("countries_visited", country),
        ):
            if item and item not in user[name]:
                user[name].append(item)
                user[name] = user[name][-self.list_limit :]
        self.count_one(user["actions_count"], value["action"])
        if value.get("page"):
            self.count_one(user["page_counts"], value["page"])
        user["most_visited_pages"] = ranking(user["page_counts"])[:5]

        activity = {name: value.get(name) for name in ("event_id", "action", "page", "duration_ms", "timestamp")}
        context = {name: value.get(name) for name in ("device_type", "browser", "location")}
        self.send(key, ts, activity, context, ended)

    def count_one(self, counts: dict[str, int], name: str) -> None:
        if name not in counts:
            while len(counts) >= self.list_limit:
                del counts[ranking(counts)[-1]]
        counts[name] = counts.get(name, 0) + 1

    def end_idle_sessions(self, time: int) -> None:
        while self.due and self.due[0][0] <= time:
            due, key = heapq.heappop(self.due)
            user = self.users[key]
            session = user["current_session"]
            if session is None or session["last_activity"] + self.idle_timeout_ms != due:
                continue
            user["current_session"] = None
            user["total_sessions"] += 1
            self.send(key, due, None, {"device_type": None, "browser": None, "location": None}, session)

    def send(self, key: str, timestamp: int, activity: Value | None, context: Value, ended: Value | None) -> None:
        user = self.users[key]
        session = user["current_session"]
        stats = {
            "stats_type": "USER_SESSION_STATS",
            "user_id": key,
            "current_session": session["session_id"] if session else None,
            "session_ended": ended is not None,
            "activity": activity,
            "session_totals": {
                "total_sessions": user["total_sessions"],
                "total_time_ms": user["total_time_ms"],
                "unique_actions": len(user["actions_count"]),
                "action_counts": dict(user["actions_count"]),
            },
            "user_profile": {
                "first_seen": user["first_seen"],
                "last_activity": user["last_activity"],
                "devices_used": list(user["devices_used"]),
                "browsers_used": list(user["browsers_used"]),
                "countries_visited": list(user["countries_visited"]),
                "pages_visited": len(user["page_counts"]),
                "most_visited_pages": list(user["most_visited_pages"]),
            },
            "current_context": context,
            "ended_session": dict(ended) if ended else None,
        }
        self.outputs.append((key, stats, timestamp))


def new_user(ts: int) -> Value:
    return {
        "current_session": None,
        "total_sessions": 0,
        "total_time_ms": 0,
        "actions_count": {},
        "first_seen": ts,
        "last_activity": ts,
        "devices_used": [],
        "browsers_used": [],
        "countries_visited": [],
        "page_counts": {},
        "most_visited_pages": [],
    }


def ranking(counts: dict[str, int]) -> list[str]:
    """Return names in order of their counts, the largest first. Those with equal counts are sorted by name."""
    return sorted(counts, key=lambda name: (-counts[name], name))
