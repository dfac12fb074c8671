"""The logic of session-analytics. Rules: docs/services/session-analytics.md."""

from __future__ import annotations

from forebay.operators import Closed, Closing, Emission, SessionAggregate, WindowResult
from forebay.processor import Context, IdleClose, LateRecord, Processor, RejectedRecord, Timer
from forebay.stores import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.time import SessionWindows
from session_analytics.figures import LONGEST_TEXT, add, join, nothing, remember_name
from session_analytics.model import (
    ACTIVE,
    ANALYTICS_TYPE,
    ENDED,
    ClickProfile,
    ClickSession,
    CurrentEvent,
    DeviceContext,
    SessionAnalytics,
    SessionInsights,
    SessionMetrics,
    UserClick,
)
from session_analytics.settings import SessionAnalyticsSettings

_NEW = ClickProfile(0, (), (), ())
_NO_CONTEXT = DeviceContext(None, None, None)


class SessionAnalyst(Processor[UserClick, SessionAnalytics]):
    """Groups each user's clicks into sessions. Sends a session's statistics after every click, and at its end."""

    profiles = KeyValueStore("profiles", ClickProfile)

    def __init__(self, settings: SessionAnalyticsSettings | None = None) -> None:
        settings = settings or SessionAnalyticsSettings()
        self._limit = settings.list_limit
        self._windows = SessionWindows(settings.gap_ms, settings.grace_ms)
        self.sessions = SessionStore("sessions", ClickSession, retention_ms=settings.retention_ms)
        self.idle = IdleClose(settings.idle_timeout_ms, settings.gap_ms + settings.grace_ms + 1)

    def init(self) -> None:
        """Create the aggregate with the bound store."""
        limit = self._limit
        self._aggregate = SessionAggregate[UserClick, ClickSession](
            self.sessions,
            self._windows,
            nothing,
            lambda _, click, session: add(click, session, limit),
            lambda _, earlier, later: join(earlier, later, limit),
            emission=Emission.BOTH,
            closed=Closed.KEEP,
        )
        self._closing = Closing(self.sessions.marks)

    def event_id(self, event: UserClick) -> str | None:
        """Return the click's id."""
        return event.click_id

    def process(self, event: UserClick, ctx: Context[SessionAnalytics]) -> None:
        """Add the click to its session, join sessions that it connects, and send the session's statistics."""
        if not 0 < len(event.page) <= LONGEST_TEXT or event.duration_on_page < 0:
            raise RejectedRecord(_reason(event))
        key = ctx.key
        outcome = self._aggregate.process(key, event, event.timestamp, ctx.closing_time)
        if outcome.refused:
            raise LateRecord(outcome.late_by_ms)
        *joined, session = outcome.updates
        assert session.value is not None
        assert outcome.closes_at is not None
        is_first = session.value.clicks == 1
        begun = is_first if not joined else 1 - len(joined)
        profile = self._profile(key, event, begun)
        self._closing.watch(ctx, outcome.closes_at)
        before = max([session.window.end for session in joined], default=event.timestamp)
        since = None if is_first else max(0, event.timestamp - before)
        ctx.forward(self._active(session, session.value, profile, event, since))

    def on_timer(self, timer: Timer, ctx: Context[SessionAnalytics]) -> None:
        """Send the sessions that can't change any more."""
        for final in self._aggregate.close(ctx.closing_time):
            assert final.value is not None
            profile = self.profiles.get(final.key) or _NEW
            ctx.forward(self._result_of(final, final.value, profile), final.key, final.timestamp)
        self._closing.schedule_next(ctx, self._aggregate.next_close())

    def _profile(self, key: str, event: UserClick, begun: int) -> ClickProfile:
        """Return the user's profile after the click, which most clicks do not change."""
        profile = self.profiles.get(key) or _NEW
        limit = self._limit
        device = event.device_info.type if event.device_info is not None else None
        devices = remember_name(profile.devices_used, "device_info.type", device, limit)
        agents = remember_name(profile.user_agents, "user_agent", event.user_agent, limit)
        referrers = remember_name(profile.referrer_sources, "referrer", event.referrer, limit)
        if (
            begun
            or devices is not profile.devices_used
            or agents is not profile.user_agents
            or referrers is not profile.referrer_sources
        ):
            profile = ClickProfile(profile.total_sessions + begun, devices, agents, referrers)
            self.profiles.put(key, profile)
        return profile

    def _active(
        self,
        of: WindowResult[ClickSession],
        session: ClickSession,
        profile: ClickProfile,
        event: UserClick,
        since: int | None,
    ) -> SessionAnalytics:
        page, info, device = event.page_metadata, event.session_info, event.device_info
        return SessionAnalytics(
            analytics_type=ANALYTICS_TYPE,
            user_id=of.key,
            session_id=f"session_{of.key}_{of.window.start}",
            session_status=ACTIVE,
            current_event=CurrentEvent(
                click_id=event.click_id,
                page=event.page,
                page_category=page.category if page is not None else None,
                duration_on_page=event.duration_on_page,
                timestamp=event.timestamp,
                sequence_number=event.sequence_number,
                interaction_type=event.interaction.click_type if event.interaction is not None else None,
                requires_auth=page.requires_auth if page is not None else None,
                is_conversion=page is not None and page.is_conversion_page is True,
            ),
            session_metrics=_metrics(of, session),
            user_profile=profile,
            device_context=DeviceContext(device.type if device is not None else None, event.user_agent, event.referrer),
            session_insights=self._insights(session, since, info.has_simulated_gap if info is not None else None),
        )

    def _result_of(
        self, of: WindowResult[ClickSession], session: ClickSession, profile: ClickProfile
    ) -> SessionAnalytics:
        return SessionAnalytics(
            analytics_type=ANALYTICS_TYPE,
            user_id=of.key,
            session_id=f"session_{of.key}_{of.window.start}",
            session_status=ENDED,
            current_event=None,
            session_metrics=_metrics(of, session),
            user_profile=profile,
            device_context=_NO_CONTEXT,
            session_insights=self._insights(session, None, None),
        )

    def _insights(self, session: ClickSession, since: int | None, has_gap: bool | None) -> SessionInsights:
        return SessionInsights(since, self._windows.gap_ms, has_gap, round(session.total_time_ms / session.clicks, 2))


def _metrics(of: WindowResult[ClickSession], session: ClickSession) -> SessionMetrics:
    start, end = of.window
    return SessionMetrics(
        pages_visited_count=session.clicks,
        total_time_ms=session.total_time_ms,
        session_duration_ms=end - start,
        pages_visited=session.recent_pages,
        unique_categories=len(session.categories),
        conversion_events=session.conversions,
        session_start=start,
        last_activity=end,
    )


def _reason(event: UserClick) -> str:
    if not event.page:
        return "page is empty: the producer must name the page that was clicked"
    if len(event.page) > LONGEST_TEXT:
        return f"page has {len(event.page)} characters: the producer must send at most {LONGEST_TEXT}"
    return f"duration_on_page is {event.duration_on_page}: the producer must send 0 or more"
