"""Views and other values that the demo's tests share."""

from typing import Any

from forebay.demo.columns import columns_of
from forebay.demo.figures import Figures
from forebay.demo.history import Trend
from forebay.demo.view import Reason, Results, ServiceView, View
from forebay.http.health import Verdict

NOW_S = 1_735_689_600.0
RESULT: dict[str, Any] = {
    "user_id": "user_000123",
    "activity": {"action": "page_view", "page": "/products/3"},
    "session_totals": {"total_sessions": 3, "total_time_ms": 3_723_000},
    "user_profile": {
        "countries_visited": ["US", "DE"],
        "devices_used": ["mobile", "desktop"],
        "most_visited_pages": ["/products", "/home"],
    },
    "ended_session": {"actions": 12},
}
FIGURES = Figures(
    records_in=40_000,
    outputs=39_900,
    errors=12,
    late=1,
    duplicates=31,
    restarts=2,
    lag=345,
    state_rows=1812,
    state_bytes=412_345,
    stream_time_s=NOW_S - 1.5,
)
TREND = Trend(in_rate=1002.4, out_rate=998, commit_rate=9.8, latency_p50_s=0.52, latency_p95_s=1.1)
READY = Verdict(True, "the tasks read and commit")
STARTING = ServiceView(
    "user-sessions", Verdict(False, "starting: no task has begun yet"), results=(Results("user_session_stats"),)
)
HINTS = ("metrics http://127.0.0.1:1/metrics", "logs /home/logs", "Ctrl-C stops everything")


def results(topic: str = "user_session_stats") -> Results:
    return Results(topic, columns_of("user_session_stats", RESULT), (RESULT,) * 40)


def running(service: str = "user-sessions", state: Verdict = READY) -> ServiceView:
    return ServiceView(
        service=service,
        state=state,
        figures=FIGURES,
        trend=TREND,
        stored=123_456,
        results=(results(),),
        reasons=(Reason("decode: unknown schema id 2147483647: " + "very long " * 30, 3), Reason("decode: key", 1)),
    )


def view(*services: ServiceView) -> View:
    return View(75, NOW_S, services, HINTS)
