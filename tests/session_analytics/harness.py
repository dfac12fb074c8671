"""A test driver for the service, and clicks for it."""

from __future__ import annotations

from typing import Any

from forebay.testing import Forwarded, TestDriver
from session_analytics.model import (
    DeviceInfo,
    Interaction,
    PageMetadata,
    SessionAnalytics,
    SessionInfo,
    UserClick,
)
from session_analytics.settings import SessionAnalyticsSettings
from tests.plain import plain

START = 1_735_689_600_000
SECOND = 1000
GAP = 30 * SECOND


def driver(dedupe_retention_ms: int = 600_000, **settings: int) -> TestDriver:
    """Return a test driver with one task. `settings` override the service's defaults."""
    return TestDriver(
        "session-analytics",
        settings=SessionAnalyticsSettings(**settings),
        dedupe_retention_ms=dedupe_retention_ms,
    )


def click(at: int, page: str = "/home", **fields: Any) -> UserClick:
    """Return a click `at` ms after START."""
    values: dict[str, Any] = {
        "click_id": None,
        "user_id": "ann",
        "page": page,
        "duration_on_page": 10,
        "timestamp": START + at,
        "sequence_number": 1,
        "user_agent": "firefox",
        "device_info": DeviceInfo("desktop", "Linux", "1920x1200"),
        "referrer": "https://search.example.com/",
        "session_info": SessionInfo(False),
        "page_metadata": PageMetadata("home", False, False),
        "interaction": Interaction("menu"),
    }
    return UserClick(**values | fields)


def pipe(to: TestDriver, at: int, page: str = "/home", key: str = "ann", **fields: Any) -> SessionAnalytics:
    """Process one click of `key` and return its only output, the session's statistics after the click."""
    (output,) = to.pipe(key, click(at, page, **fields))
    assert (output.key, output.timestamp, output.value.session_status) == (key, START + at, "active")
    result = output.value
    assert isinstance(result, SessionAnalytics)
    return result


def spans(outputs: list[Forwarded[Any]], status: str = "ended") -> list[tuple[str, int, int, int]]:
    """Return user, first and last click (ms after START) and number of clicks of the outputs with a status."""
    return [
        (
            output.key,
            output.value.session_metrics.session_start - START,
            output.value.session_metrics.last_activity - START,
            output.value.session_metrics.pages_visited_count,
        )
        for output in outputs
        if output.value.session_status == status
    ]


def stores(of: TestDriver) -> dict[str, Any]:
    """Return the service's stores in the replay's form."""
    sessions = [
        {"key": entry.key, "start": entry.start, "end": entry.end, "value": plain(entry.value)}
        for entry in of.store("sessions")
    ]
    return {"sessions": sessions, "profiles": {key: plain(value) for key, value in of.store("profiles").items()}}
