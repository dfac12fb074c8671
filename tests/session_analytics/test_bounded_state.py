"""State stays small with one long session, many sessions of one user, and many names."""

import pytest

from forebay.processor.engine_settings import Emit
from forebay.testing import TestDriver
from session_analytics.model import ClickSession, DeviceInfo, PageMetadata
from session_analytics.settings import SessionAnalyticsSettings
from tests.session_analytics.harness import SECOND, click, driver, pipe

pytestmark = pytest.mark.long

MINUTE = 60 * SECOND


def rows(of: TestDriver) -> int:
    """Return the number of rows of the task's table."""
    return len(of.sub_topologies[0].tables[0])


def state_bytes(of: TestDriver) -> int:
    """Return the size of the task's table in bytes."""
    return of.sub_topologies[0].tables[0].size_bytes


def test_endless_session_is_one_small_row() -> None:
    task = TestDriver("session-analytics", dedupe_retention_ms=0, emit=Emit.LATEST)
    sizes: list[tuple[int, int]] = []
    for first in range(0, 10_000, 2_000):
        clicks = [
            click(at * 29 * SECOND, f"/{at % 977}", page_metadata=PageMetadata(f"c{at % 977}", False, at % 100 == 0))
            for at in range(first, first + 2_000)
        ]
        task.run_batch([("ann", click) for click in clicks])
        sizes.append((rows(task), state_bytes(task)))
    (entry,) = task.store("sessions")
    assert (entry.value.clicks, entry.value.conversions) == (10_000, 100)
    assert len(entry.value.categories) == 100
    assert len(entry.value.recent_pages) == 5
    assert len({count for count, _ in sizes}) == 1
    assert max(size for _, size in sizes) < 1500
    assert task.errors == []


def test_sessions_of_one_user_expire_after_the_retention() -> None:
    task = driver(dedupe_retention_ms=0, retention_ms=10 * MINUTE)
    counts: list[int] = []
    for first in range(0, 1000, 50):
        task.run_batch([("ann", click(at * MINUTE)) for at in range(first, first + 50)])
        counts.append(rows(task))
    assert len(task.store("sessions")) == 10
    assert task.store("profiles")["ann"].total_sessions == 1000
    assert max(counts) < 40
    assert sum(output.value.session_status == "ended" for output in task.outputs) == 999


def test_lists_lose_the_oldest() -> None:
    task = driver(list_limit=2)
    for at, name in enumerate(["a", "b", "c", "a"]):
        result = pipe(
            task,
            at,
            device_info=DeviceInfo(name),
            user_agent=name,
            referrer=name,
            page_metadata=PageMetadata(name, False, False),
        )
    known = result.user_profile
    assert known.devices_used == known.user_agents == known.referrer_sources == ("c", "a")
    assert result.session_metrics.unique_categories == 2


def test_merged_sessions_respect_the_list_limit() -> None:
    task = driver(list_limit=3, grace_ms=MINUTE)
    for at, name in ((0, "a"), (1, "b"), (50 * SECOND, "b"), (50 * SECOND, "c"), (50 * SECOND, "d")):
        pipe(task, at, page_metadata=PageMetadata(name, False, False))
    pipe(task, 25 * SECOND, page_metadata=PageMetadata("c", False, False))
    (entry,) = task.store("sessions")
    assert isinstance(entry.value, ClickSession)
    assert entry.value.categories == ("b", "c", "d")


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("gap_ms", 0, "use 1 or more"),
        ("grace_ms", -1, "use 0 or more"),
        ("idle_timeout_ms", -1, r"use 0 \(never\)"),
        ("retention_ms", 29_999, "use at least gap_ms \\+ grace_ms, 30000"),
        ("list_limit", 0, "use 1 or more"),
    ],
)
def test_senseless_settings_are_refused_by_name(name: str, value: int, remedy: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}: {remedy}"):
        SessionAnalyticsSettings(**{name: value})
