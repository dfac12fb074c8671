"""Without a terminal, each service gets one line of key statistics and its latest result."""

import dataclasses

from forebay.demo.plain import plain_lines, totals
from forebay.demo.view import Results
from forebay.http.health import Verdict
from tests.demo.views import STARTING, running, view


def test_a_running_service() -> None:
    assert plain_lines(view(running())) == [
        "01:15 user-sessions: in 1,002/s, out 998/s, lag 345, commits 10/s, latency p50 0.52 s p95 1.10 s,"
        " state 1,812 rows 412 kB, stream time 23:59:58, errors 12, late 1, duplicates 31, restarts 2,"
        " stored 123,456 events",
        "01:15 user-sessions latest: user user_000123, last action page_view, sessions 3, time 1:02:03,"
        " ended session 12 events",
    ]


def test_a_service_that_starts() -> None:
    assert plain_lines(view(STARTING)) == ["01:15 user-sessions: starting: no task has begun yet"]


def test_trouble_is_reported_with_the_statistics() -> None:
    line = plain_lines(view(running(state=Verdict(False, "broker away"))))[0]
    assert line.endswith("stored 123,456 events (broker away)")


def test_no_result_yet() -> None:
    quiet = dataclasses.replace(running(), results=(Results("user_session_stats"),), stored=None)
    (line,) = plain_lines(view(quiet))
    assert line.endswith("stored - events")


def test_totals() -> None:
    assert totals(view(running(), STARTING)) == [
        "user-sessions: 40,000 events in, 39,900 results, 12 errors, 1 late, 31 duplicates;"
        " 123,456 events are stored in all"
    ]
