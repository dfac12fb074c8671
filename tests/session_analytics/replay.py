"""An independent implementation of the service's rules, with which every output is compared.

A session is the list of its clicks, from which all statistics are computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]

REQUIRED = {"page": str, "duration_on_page": int, "timestamp": int}


def replay(
    records: Iterable[Record],
    gap_ms: int = 30_000,
    grace_ms: int = 0,
    retention_ms: int = 3_600_000,
    list_limit: int = 100,
    dedupe_retention_ms: int = 600_000,
    until: int | None = None,
) -> tuple[list[Output], dict[str, Any]]:
    """Return the outputs in order, and each store's content, after one task has processed `records` in this order.

    Args:
        until: Closing time (ms) of the idle task after the last record. Stream time + gap + grace + 1 ends every
            session.
    """
    task = Task(gap_ms, grace_ms, retention_ms, list_limit, dedupe_retention_ms)
    for key, value, timestamp in records:
        task.take(key, value, timestamp)
    if until is not None:
        task.idle(until)
    return task.outputs, task.stores()


class Task:
    """One task. `late` contains (key, value, by_ms) for each late click."""

    def __init__(
        self, gap_ms: int, grace_ms: int, retention_ms: int, list_limit: int, dedupe_retention_ms: int
    ) -> None:
        self.gap_ms = gap_ms
        self.grace_ms = grace_ms
        self.retention_ms = retention_ms
        self.list_limit = list_limit
        self.dedupe_retention_ms = dedupe_retention_ms
        self.stream_time = -1
        self.closing_time = -1
        self.open: list[Value] = []
        self.ended: list[Value] = []
        self.users: dict[str, Value] = {}
        self.latest_end = -1
        self.outputs: list[Output] = []
        self.late: list[tuple[str, Value, int]] = []
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
        click_id = value.get("click_id")
        if self.dedupe_retention_ms and click_id is not None and self.known_until(click_id) > time:
            return
        self.stream_time = time
        self.end_sessions(max(time, self.closing_time))
        if value["page"] == "" or value["duration_on_page"] < 0 or max(map(len, stored_texts(value))) > 4096:
            return
        if self.count(key, value) and click_id is not None:
            self.seen[click_id] = time

    def idle(self, until: int) -> None:
        """Advance the closing time to `until`. It remains advanced only if this ends a session."""
        before = len(self.outputs)
        self.end_sessions(until)
        if len(self.outputs) > before:
            self.closing_time = until

    def known_until(self, click_id: str) -> int:
        """Return when (ms) an id expires, or -1 if it is unknown.

        An id is stored in a bucket of a tenth of the retention. The bucket expires one retention after its end.
        """
        if click_id not in self.seen:
            return -1
        bucket_ms = max(1, self.dedupe_retention_ms // 10)
        return (self.seen[click_id] // bucket_ms + 1) * bucket_ms + self.dedupe_retention_ms

    def end_sessions(self, closing_time: int) -> None:
        open_from = closing_time - self.gap_ms - self.grace_ms
        for session in sorted(self.open, key=lambda s: (s["end"], s["start"], s["key"].encode())):
            if session["end"] < open_from:
                self.open.remove(session)
                self.ended.append(session)
                context = {"current_device": None, "current_user_agent": None, "current_referrer": None}
                self.send(session, "ended", session["end"], None, context, None, None)

    def count(self, key: str, value: Value) -> bool:
        ts = value["timestamp"]
        near = [
            session
            for session in self.open
            if session["key"] == key and session["end"] >= ts - self.gap_ms and session["start"] <= ts + self.gap_ms
        ]
        near.sort(key=lambda session: session["end"])
        open_from = max(self.stream_time, self.closing_time) - self.gap_ms - self.grace_ms
        end = max([ts] + [session["end"] for session in near])
        if end < open_from:
            self.late.append((key, value, open_from - end))
            return False
        metadata = value.get("page_metadata") or {}
        category = metadata.get("category")
        joined: Value = {"key": key, "start": ts, "end": end, "clicks": [], "categories": []}
        for session in near:
            self.open.remove(session)
            joined["start"] = min(joined["start"], session["start"])
            joined["clicks"] += session["clicks"]
            joined["categories"] += [name for name in session["categories"] if name not in joined["categories"]]
            joined["categories"] = joined["categories"][-self.list_limit :]
        joined["clicks"].append(value)
        self.remember(joined["categories"], category)
        self.open.append(joined)
        self.latest_end = max(self.latest_end, end)

        no_lists: Value = {"devices_used": [], "user_agents": [], "referrer_sources": []}
        user = self.users.setdefault(key, {"total_sessions": 0} | no_lists)
        user["total_sessions"] += 1 - len(near)
        device = (value.get("device_info") or {}).get("type")
        self.remember(user["devices_used"], device)
        self.remember(user["user_agents"], value.get("user_agent"))
        self.remember(user["referrer_sources"], value.get("referrer"))

        event = {name: value.get(name) for name in ("click_id", "page", "duration_on_page", "timestamp")}
        event |= {
            "page_category": category,
            "sequence_number": value.get("sequence_number"),
            "interaction_type": (value.get("interaction") or {}).get("click_type"),
            "requires_auth": metadata.get("requires_auth"),
            "is_conversion": metadata.get("is_conversion_page") is True,
        }
        context = {
            "current_device": device,
            "current_user_agent": value.get("user_agent"),
            "current_referrer": value.get("referrer"),
        }
        since = max(0, ts - max(session["end"] for session in near)) if near else None
        has_gap = (value.get("session_info") or {}).get("has_simulated_gap")
        self.send(joined, "active", ts, event, context, since, has_gap)
        return True

    def remember(self, names: list[str], name: str | None) -> None:
        if name and name not in names:
            names.append(name)
            del names[: -self.list_limit]

    def send(
        self,
        session: Value,
        status: str,
        timestamp: int,
        event: Value | None,
        context: Value,
        since: int | None,
        has_gap: bool | None,
    ) -> None:
        key, start, end = session["key"], session["start"], session["end"]
        state = figures(session)
        user = self.users[key]
        analytics = {
            "analytics_type": "SESSION_ANALYTICS",
            "user_id": key,
            "session_id": f"session_{key}_{start}",
            "session_status": status,
            "current_event": event,
            "session_metrics": {
                "pages_visited_count": state["clicks"],
                "total_time_ms": state["total_time_ms"],
                "session_duration_ms": end - start,
                "pages_visited": state["recent_pages"],
                "unique_categories": len(state["categories"]),
                "conversion_events": state["conversions"],
                "session_start": start,
                "last_activity": end,
            },
            "user_profile": {name: held if isinstance(held, int) else list(held) for name, held in user.items()},
            "device_context": context,
            "session_insights": {
                "time_since_last_activity": since,
                "session_timeout_ms": self.gap_ms,
                "has_simulated_gap": has_gap,
                "avg_time_per_page": round(state["total_time_ms"] / state["clicks"], 2),
            },
        }
        self.outputs.append((key, analytics, timestamp))

    def past_retention(self, by_ms: int) -> list[Value]:
        """Return the statistics of sessions that are past the retention by less than `by_ms`."""
        bound = self.latest_end - self.retention_ms
        return [figures(s) for s in self.open + self.ended if bound - by_ms < s["end"] <= bound]

    def stores(self) -> dict[str, Any]:
        """Return the sessions within the retention, sorted by end, start and key, and the profiles by user."""
        shown = [s for s in self.open + self.ended if s["end"] > self.latest_end - self.retention_ms]
        shown.sort(key=lambda s: (s["end"], s["start"], s["key"].encode()))
        return {
            "sessions": [{"key": s["key"], "start": s["start"], "end": s["end"], "value": figures(s)} for s in shown],
            "profiles": self.users,
        }


def stored_texts(value: Value) -> list[str]:
    """Return the texts of a click that are stored in the session's state."""
    category = (value.get("page_metadata") or {}).get("category")
    device = (value.get("device_info") or {}).get("type")
    texts = [value["page"], category, device, value.get("user_agent"), value.get("referrer")]
    return [text for text in texts if text is not None]


def figures(session: Value) -> Value:
    """Return a session's state, computed from all its clicks."""
    clicks = session["clicks"]
    last = sorted(clicks, key=lambda click: click["timestamp"])[-5:]
    return {
        "clicks": len(clicks),
        "total_time_ms": sum(click["duration_on_page"] for click in clicks),
        "conversions": sum((click.get("page_metadata") or {}).get("is_conversion_page") is True for click in clicks),
        "categories": list(session["categories"]),
        "recent_pages": [click["page"] for click in last],
        "recent_times": [click["timestamp"] for click in last],
    }
