"""Records of the service, which match the contracts in avro/user-sessions field by field."""

from __future__ import annotations

from forebay.records import FrozenMap, Record

STATS_TYPE = "USER_SESSION_STATS"


class Location(Record):
    """The user's location."""

    country: str | None = None
    city: str | None = None


class UserActivity(Record):
    """An action of a user (topic user_activity). Times in ms."""

    event_id: str | None
    user_id: str | None
    action: str
    session_id: str
    duration_ms: int
    timestamp: int
    page: str | None = None
    browser: str | None = None
    device_type: str | None = None
    location: Location | None = None


class Session(Record):
    """Totals of a single session: event times in ms, number of events, sum of their durations in ms."""

    session_id: str
    started_at: int
    last_activity: int
    actions: int
    duration_ms: int


class UserProfile(Record):
    """State per user (store user-profiles). Times in ms."""

    current_session: Session | None
    total_sessions: int
    total_time_ms: int
    actions_count: FrozenMap[str, int]
    first_seen: int
    last_activity: int
    devices_used: tuple[str, ...]
    browsers_used: tuple[str, ...]
    countries_visited: tuple[str, ...]
    page_counts: FrozenMap[str, int]
    most_visited_pages: tuple[str, ...]


class Activity(Record):
    """The event to which statistics refer. Times in ms."""

    event_id: str | None
    action: str
    page: str | None
    duration_ms: int
    timestamp: int


class SessionTotals(Record):
    """Totals of a user's sessions, without the open session."""

    total_sessions: int
    total_time_ms: int
    unique_actions: int
    action_counts: FrozenMap[str, int]


class ProfileSummary(Record):
    """A summary of the user's profile. Times in ms."""

    first_seen: int
    last_activity: int
    devices_used: tuple[str, ...]
    browsers_used: tuple[str, ...]
    countries_visited: tuple[str, ...]
    pages_visited: int
    most_visited_pages: tuple[str, ...]


class CurrentContext(Record):
    """The device, browser and location of an event."""

    device_type: str | None
    browser: str | None
    location: Location | None


class UserSessionStats(Record):
    """A user's statistics after an event or a session that ended idle (topic user_session_stats)."""

    stats_type: str
    user_id: str
    current_session: str | None
    session_ended: bool
    activity: Activity | None
    session_totals: SessionTotals
    user_profile: ProfileSummary
    current_context: CurrentContext
    ended_session: Session | None
