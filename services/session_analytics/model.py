"""Records of the service: contracts in avro/session-analytics, field for field. Times in ms."""

from __future__ import annotations

from forebay.records import Record

ANALYTICS_TYPE = "SESSION_ANALYTICS"
ACTIVE = "active"
ENDED = "ended"


class DeviceInfo(Record):
    """What the user held."""

    type: str | None = None
    os: str | None = None
    screen_resolution: str | None = None


class SessionInfo(Record):
    """What the producer knows about sessions."""

    has_simulated_gap: bool | None = None


class PageMetadata(Record):
    """What kind of page it is."""

    category: str | None = None
    requires_auth: bool | None = None
    is_conversion_page: bool | None = None


class Interaction(Record):
    """How the user clicked."""

    click_type: str | None = None


class UserClick(Record):
    """One click of a user (topic user_clicks)."""

    click_id: str | None
    user_id: str | None
    page: str
    duration_on_page: int
    timestamp: int
    sequence_number: int | None = None
    user_agent: str | None = None
    device_info: DeviceInfo | None = None
    referrer: str | None = None
    session_info: SessionInfo | None = None
    page_metadata: PageMetadata | None = None
    interaction: Interaction | None = None


class ClickSession(Record):
    """State per session (store sessions): its bounds are in the store's key.

    `recent_pages` are the last five by event time, `recent_times` their event times.
    """

    clicks: int
    total_time_ms: int
    conversions: int
    categories: tuple[str, ...]
    recent_pages: tuple[str, ...]
    recent_times: tuple[int, ...]


class ClickProfile(Record):
    """State per user, over all sessions (store profiles), and as sent: sessions so far, the open ones included."""

    total_sessions: int
    devices_used: tuple[str, ...]
    user_agents: tuple[str, ...]
    referrer_sources: tuple[str, ...]


class CurrentEvent(Record):
    """The click that analytics follow."""

    click_id: str | None
    page: str
    page_category: str | None
    duration_on_page: int
    timestamp: int
    sequence_number: int | None
    interaction_type: str | None
    requires_auth: bool | None
    is_conversion: bool


class SessionMetrics(Record):
    """One session's own figures."""

    pages_visited_count: int
    total_time_ms: int
    session_duration_ms: int
    pages_visited: tuple[str, ...]
    unique_categories: int
    conversion_events: int
    session_start: int
    last_activity: int


class DeviceContext(Record):
    """What the current click came from; all null when a session ended."""

    current_device: str | None
    current_user_agent: str | None
    current_referrer: str | None


class SessionInsights(Record):
    """What follows from the figures."""

    time_since_last_activity: int | None
    session_timeout_ms: int
    has_simulated_gap: bool | None
    avg_time_per_page: float


class SessionAnalytics(Record):
    """A session after a click of it, or when it ended (topic session_analytics)."""

    analytics_type: str
    user_id: str
    session_id: str
    session_status: str
    current_event: CurrentEvent | None
    session_metrics: SessionMetrics
    user_profile: ClickProfile
    device_context: DeviceContext
    session_insights: SessionInsights
