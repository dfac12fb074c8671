"""The columns of session-analytics' results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column, duration, milliseconds

COLUMNS = {
    "session_analytics": (
        Column("user", "user_id", 11),
        Column("session", "session_status", 7),
        Column("page", "current_event.page", 14),
        Column("pages", "session_metrics.pages_visited_count", 5),
        Column("time", "session_metrics.total_time_ms", 8, duration),
        Column("sessions", "user_profile.total_sessions", 8),
        Column("bought", "session_metrics.conversion_events", 6),
        Column("per page", "session_insights.avg_time_per_page", 9, milliseconds),
        Column("from", "device_context.current_referrer", 14),
    ),
}
