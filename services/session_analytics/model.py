"""Records of the service, which match the contracts in avro/session-analytics field by field. Times in ms."""

from __future__ import annotations

from forebay.records import Record

ANALYTICS_TYPE = "SESSION_ANALYTICS"
ACTIVE = "active"
ENDED = "ended"


class DeviceInfo(Record):
    """The user's device."""

    type: str | None = None
    os: str | None = None
    screen_resolution: str | None = None


class SessionInfo(Record):
    """The producer's information about sessions."""

    has_simulated_gap: bool | None = None


class PageMetadata(Record):
    """Properties of the page."""

    category: str | None = None
    requires_auth: bool | None = None
    is_conversion_page: bool | None = None


class Interaction(Record):
    """The kind of the click."""

    click_type: str | None = None


class UserClick(Record):
    """A click of a user (topic user_clicks)."""

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
    """State per session (store sessions), whose bounds are in the store's key.

    `recent_pages` are the last five by event time, `recent_times` their event times.
    """

    clicks: int
    total_time_ms: int
    conversions: int
    categories: tuple[str, ...]
    recent_pages: tuple[str, ...]
    recent_times: tuple[int, ...]


class ClickProfile(Record):
    """State per user over all sessions, including open ones (store profiles, and in results)."""

    total_sessions: int
    devices_used: tuple[str, ...]
    user_agents: tuple[str, ...]
    referrer_sources: tuple[str, ...]


class CurrentEvent(Record):
    """The click to which analytics refer."""

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
    """The statistics of a single session."""

    pages_visited_count: int
    total_time_ms: int
    session_duration_ms: int
    pages_visited: tuple[str, ...]
    unique_categories: int
    conversion_events: int
    session_start: int
    last_activity: int


class DeviceContext(Record):
    """The device of the current click; all None at the end of a session."""

    current_device: str | None
    current_user_agent: str | None
    current_referrer: str | None


class SessionInsights(Record):
    """Values derived from the statistics."""

    time_since_last_activity: int | None
    session_timeout_ms: int
    has_simulated_gap: bool | None
    avg_time_per_page: float


class SessionAnalytics(Record):
    """A session after a click, or at its end (topic session_analytics)."""

    analytics_type: str
    user_id: str
    session_id: str
    session_status: str
    current_event: CurrentEvent | None
    session_metrics: SessionMetrics
    user_profile: ClickProfile
    device_context: DeviceContext
    session_insights: SessionInsights
