"""The console computes rates, latencies, stores and tasks from a job's metrics, and stores those of an hour."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.console.ring import SLOTS, STEP_S, Ring
from tests.console.watching import TOPIC, Console, Job

NOW = 1_700_000_000.0


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job()
    yield job
    job.close()


@pytest.fixture
def console(job: Job) -> Iterator[Console]:
    console = Console([job])
    yield console
    console.close()


def test_rates_and_latencies_cover_the_time_between_two_polls(job: Job, console: Console) -> None:
    job.report(100, at=1)
    console.look(NOW)
    _, body = console.get("/api/jobs")
    assert body["jobs"][0]["state"] == "running"
    assert body["jobs"][0]["in"] is None, "a single poll gives no rates"
    job.report(300, at=2)
    console.look(NOW + 4)
    (shown,) = console.get("/api/jobs")[1]["jobs"]
    assert (shown["in"], shown["out"]) == (50.0, 50.0)
    assert 10 <= shown["p50"] <= shown["p99"] <= 20
    assert (shown["rows"], shown["bytes"], shown["lag"]) == (300, 30_000, None)


def test_a_job_s_page_has_rates_by_place_stores_and_tasks(job: Job, console: Console) -> None:
    job.report(10, at=1, tasks=2)
    job.metrics.observe_lag({(TOPIC, 0): 3, (TOPIC, 1): 4})
    console.look(NOW)
    job.report(30, at=2, tasks=2)
    console.look(NOW + 2)
    _, body = console.get("/api/jobs/user-sessions?topology=1")
    assert body["rates"]["in"] == {TOPIC: 20.0}
    assert body["rates"]["puts"] == body["rates"]["gets"] == {"user-profiles": 20.0}
    assert body["stores"] == {"user-profiles": {"rows": 60, "bytes": 6_000}}
    assert [(task["stage"], task["task"], task["rows"]) for task in body["tasks"]] == [(0, 0, 30), (0, 1, 30)]
    assert body["lags"] == {TOPIC: 7}
    arrows = {(arrow["tail"], arrow["head"]): (arrow["rate"], arrow["name"]) for arrow in body["topology"]["arrows"]}
    assert arrows[f"topic {TOPIC}", "s0"] == ("in", TOPIC)
    assert arrows["s0", "store user-profiles"] == ("puts", "user-profiles")
    assert arrows["s0", "topic user_session_stats"] == ("sent", "user_session_stats")
    assert body["rates"]["sent"] == {"user_session_stats": 20.0}


def test_arrows_between_steps_have_rates(console: Console, job: Job) -> None:
    job.report(10, at=1, tasks=2, passed={"1 3": 4})
    console.look(NOW)
    job.report(30, at=2, tasks=2, passed={"1 3": 10})
    console.look(NOW + 2)
    assert console.get("/api/jobs/user-sessions")[1]["rates"]["passed"] == {"0 1 3": 6.0}


def test_a_restarted_job_has_no_negative_rates(job: Job, console: Console) -> None:
    job.report(1_000, at=1)
    console.look(NOW)
    again = Job()
    again.report(5, at=1)
    console.watchers[0].job = console.watchers[0].job.__class__(
        console.watchers[0].job.service, "user-sessions", again.url
    )
    console.look(NOW + 2)
    again.close()
    assert console.get("/api/jobs")[1]["jobs"][0]["in"] is None


def test_an_hour_is_stored_and_sent_from_the_time_that_a_page_requests() -> None:
    ring = Ring()
    for step in range(SLOTS + 10):
        ring.put(NOW + step * STEP_S, {"in": float(step)})
    last = NOW + (SLOTS + 9) * STEP_S
    result = ring.show(last + STEP_S)
    values = result["series"]["in"]
    assert (len(values), values[0], values[-1]) == (SLOTS - 1, 11.0, SLOTS + 9.0)
    since = result["first_s"] + (len(values) - 3) * STEP_S
    assert ring.show(last + STEP_S, since)["series"]["in"] == values[-2:]


def test_unseen_time_is_a_gap() -> None:
    ring = Ring()
    ring.put(NOW, {"in": 1.0, "p50": None})
    ring.put(NOW + 3 * STEP_S, {"in": 2.0})
    assert ring.lately("in", NOW + 4 * STEP_S, 5) == [None, 1.0, None, None, 2.0]
    assert ring.lately("p50", NOW + 4 * STEP_S, 5) == [None] * 5
    # An hour later, values of the previous hour in the same slots must not be shown.
    assert ring.lately("in", NOW + 3600 + 4 * STEP_S, 5) == [None] * 5
