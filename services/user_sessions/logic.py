"""The logic of user-sessions. Rules: docs/services/user-sessions.md."""

from __future__ import annotations

from forebay.bounded import append_bounded, count_bounded, rank_top
from forebay.processor import Context, Processor, RejectedRecord, Timer
from forebay.records import FrozenMap, replace
from forebay.stores import KeyValueStore
from user_sessions.model import (
    STATS_TYPE,
    Activity,
    CurrentContext,
    ProfileSummary,
    Session,
    SessionTotals,
    UserActivity,
    UserProfile,
    UserSessionStats,
)
from user_sessions.settings import UserSessionsSettings

IDLE = "idle"
_NO_COUNTS: FrozenMap[str, int] = FrozenMap()
_NO_CONTEXT = CurrentContext(None, None, None)


class UserSessions(Processor[UserActivity, UserSessionStats]):
    """Keeps each user's profile, and sends statistics after every event and every session that ends idle."""

    profiles = KeyValueStore("user-profiles", UserProfile)

    def __init__(self, settings: UserSessionsSettings | None = None) -> None:
        settings = settings or UserSessionsSettings()
        self._idle_timeout_ms = settings.idle_timeout_ms
        self._limit = settings.list_limit

    def process(self, event: UserActivity, ctx: Context[UserSessionStats]) -> None:
        """Count the event, end the current session if the event belongs to another, and send the statistics."""
        key = ctx.key
        ts = event.timestamp
        session_id = event.session_id
        duration_ms = event.duration_ms
        if not session_id or not event.action or duration_ms < 0:
            raise RejectedRecord(_reason(event))
        profile = self.profiles.get(key) or _first_profile(ts)

        session, ended = _advance(profile.current_session, session_id, ts, duration_ms)
        if session.actions == 1 and self._idle_timeout_ms:
            ctx.schedule(IDLE, ts + self._idle_timeout_ms)
        updated = self._update_profile(profile, event, session, ended)
        self.profiles.put(key, updated)

        activity = Activity(
            event_id=event.event_id, action=event.action, page=event.page, duration_ms=duration_ms, timestamp=ts
        )
        context = CurrentContext(event.device_type, event.browser, event.location)
        ctx.forward(_stats(key, updated, ended, activity, context))

    def on_timer(self, timer: Timer, ctx: Context[UserSessionStats]) -> None:
        """End the user's session if it has been idle long enough. Otherwise, move the timer to that time.

        The timer is set once per session, not once per event, because moving it costs more than the event.
        """
        key = timer.key
        profile = self.profiles.get(key)
        session = profile.current_session if profile is not None else None
        if profile is None or session is None or not self._idle_timeout_ms:
            return
        due = session.last_activity + self._idle_timeout_ms
        if due > timer.due:
            ctx.schedule(IDLE, due)
            return
        updated = replace(profile, current_session=None, total_sessions=profile.total_sessions + 1)
        self.profiles.put(key, updated)
        ctx.forward(_stats(key, updated, session, None, _NO_CONTEXT))

    def _update_profile(
        self, profile: UserProfile, event: UserActivity, session: Session, ended: Session | None
    ) -> UserProfile:
        limit = self._limit
        first, last = _extend_range(profile.first_seen, profile.last_activity, event.timestamp)
        devices = profile.devices_used
        browsers = profile.browsers_used
        countries = profile.countries_visited
        pages = profile.page_counts
        most_visited = profile.most_visited_pages
        if event.device_type and event.device_type not in devices:
            devices = append_bounded(devices, event.device_type, limit)
        if event.browser and event.browser not in browsers:
            browsers = append_bounded(browsers, event.browser, limit)
        location = event.location
        if location is not None and location.country and location.country not in countries:
            countries = append_bounded(countries, location.country, limit)
        if event.page:
            pages = count_bounded(pages, event.page, limit)
            most_visited = rank_top(most_visited, pages, event.page)
        return UserProfile(
            current_session=session,
            total_sessions=profile.total_sessions if ended is None else profile.total_sessions + 1,
            total_time_ms=profile.total_time_ms + event.duration_ms,
            actions_count=count_bounded(profile.actions_count, event.action, limit),
            first_seen=first,
            last_activity=last,
            devices_used=devices,
            browsers_used=browsers,
            countries_visited=countries,
            page_counts=pages,
            most_visited_pages=most_visited,
        )


def _advance(current: Session | None, session_id: str, ts: int, duration_ms: int) -> tuple[Session, Session | None]:
    if current is None or current.session_id != session_id:
        session = Session(session_id=session_id, started_at=ts, last_activity=ts, actions=1, duration_ms=duration_ms)
        return session, current
    first, last = _extend_range(current.started_at, current.last_activity, ts)
    session = replace(
        current,
        started_at=first,
        last_activity=last,
        actions=current.actions + 1,
        duration_ms=current.duration_ms + duration_ms,
    )
    return session, None


def _extend_range(first: int, last: int, ts: int) -> tuple[int, int]:
    if ts > last:
        last = ts
    elif ts < first:
        first = ts
    return first, last


def _first_profile(ts: int) -> UserProfile:
    return UserProfile(
        current_session=None,
        total_sessions=0,
        total_time_ms=0,
        actions_count=_NO_COUNTS,
        first_seen=ts,
        last_activity=ts,
        devices_used=(),
        browsers_used=(),
        countries_visited=(),
        page_counts=_NO_COUNTS,
        most_visited_pages=(),
    )


def _stats(
    key: str, profile: UserProfile, ended: Session | None, activity: Activity | None, context: CurrentContext
) -> UserSessionStats:
    counts = profile.actions_count
    session = profile.current_session
    return UserSessionStats(
        stats_type=STATS_TYPE,
        user_id=key,
        current_session=None if session is None else session.session_id,
        session_ended=ended is not None,
        activity=activity,
        session_totals=SessionTotals(profile.total_sessions, profile.total_time_ms, len(counts), counts),
        user_profile=ProfileSummary(
            first_seen=profile.first_seen,
            last_activity=profile.last_activity,
            devices_used=profile.devices_used,
            browsers_used=profile.browsers_used,
            countries_visited=profile.countries_visited,
            pages_visited=len(profile.page_counts),
            most_visited_pages=profile.most_visited_pages,
        ),
        current_context=context,
        ended_session=ended,
    )


def _reason(event: UserActivity) -> str:
    if not event.action:
        return "action is empty: the producer must name what the user did"
    if not event.session_id:
        return "session_id is empty: the producer must name the session"
    return f"duration_ms is {event.duration_ms}: the producer must send 0 or more"
