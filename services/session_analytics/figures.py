"""The statistics of a session: without clicks, after another click, and of two joined sessions."""

from __future__ import annotations

from forebay.bounded import append_bounded
from forebay.processor import RejectedRecord
from session_analytics.model import ClickSession, UserClick

RECENT = 5
"""Number of pages that are kept of a session."""

LONGEST_TEXT = 4096
"""Maximum characters of a text in the state."""

_NOTHING = ClickSession(clicks=0, total_time_ms=0, conversions=0, categories=(), recent_pages=(), recent_times=())


def nothing() -> ClickSession:
    """Return the statistics of a session without clicks."""
    return _NOTHING


def remember_name(names: tuple[str, ...], what: str, name: str | None, limit: int) -> tuple[str, ...]:
    """Return `names` with `name` added if it is new, without the oldest above `limit`.

    Raises:
        RejectedRecord: a new name is longer than LONGEST_TEXT. The message contains `what`.
    """
    if not name or name in names:
        return names
    if len(name) > LONGEST_TEXT:
        raise RejectedRecord(f"{what} has {len(name)} characters: the producer must send at most {LONGEST_TEXT}")
    return append_bounded(names, name, limit)


def add(click: UserClick, session: ClickSession, limit: int) -> ClickSession:
    """Return the statistics with another click. `limit` is the maximum number of categories."""
    categories = session.categories
    conversions = session.conversions
    metadata = click.page_metadata
    if metadata is not None:
        categories = remember_name(categories, "page_metadata.category", metadata.category, limit)
        if metadata.is_conversion_page:
            conversions += 1
    pages, times = session.recent_pages, session.recent_times
    place = len(times)
    while place and times[place - 1] > click.timestamp:
        place -= 1
    pages = (*pages[:place], click.page, *pages[place:])[-RECENT:]
    times = (*times[:place], click.timestamp, *times[place:])[-RECENT:]
    return ClickSession(
        clicks=session.clicks + 1,
        total_time_ms=session.total_time_ms + click.duration_on_page,
        conversions=conversions,
        categories=categories,
        recent_pages=pages,
        recent_times=times,
    )


def join(earlier: ClickSession, later: ClickSession, limit: int) -> ClickSession:
    """Return the joined statistics of two sessions. `limit` is the maximum number of categories."""
    categories = earlier.categories + tuple(name for name in later.categories if name not in earlier.categories)
    return ClickSession(
        clicks=earlier.clicks + later.clicks,
        total_time_ms=earlier.total_time_ms + later.total_time_ms,
        conversions=earlier.conversions + later.conversions,
        categories=categories[-limit:],
        recent_pages=(earlier.recent_pages + later.recent_pages)[-RECENT:],
        recent_times=(earlier.recent_times + later.recent_times)[-RECENT:],
    )
