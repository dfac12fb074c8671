"""The columns of user-sessions' results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column, duration, join_words

COLUMNS = {
    "user_session_stats": (
        Column("user", "user_id", 11),
        Column("last action", "activity.action", 11),
        Column("sessions", "session_totals.total_sessions", 8),
        Column("time", "session_totals.total_time_ms", 8, duration),
        Column("ended session", "ended_session.actions", 13, "{} events".format),
        Column("top page", "user_profile.most_visited_pages", 13, lambda pages: pages[0] if pages else ""),
        Column("page", "activity.page", 13),
        Column("from", "user_profile.countries_visited", 11, join_words),
        Column("with", "user_profile.devices_used", 21, join_words),
    ),
}
