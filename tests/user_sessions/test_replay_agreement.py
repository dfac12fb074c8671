"""The logic and the independent replay produce the same outputs and states for any input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plain import plain
from tests.user_sessions.harness import START, driver
from tests.user_sessions.replay import replay
from user_sessions.model import Location, UserActivity
from user_sessions.settings import UserSessionsSettings

pytestmark = pytest.mark.long

names = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
events = st.builds(
    UserActivity,
    event_id=st.one_of(st.none(), st.integers(0, 30).map(str)),
    user_id=st.none(),
    action=st.one_of(names, st.just("")),
    session_id=st.sampled_from(["s1", "s2", "s3"]),
    duration_ms=st.integers(-1, 1000),
    timestamp=st.integers(START, START + 500),
    page=st.one_of(st.none(), names),
    browser=st.one_of(st.none(), names),
    device_type=st.one_of(st.none(), names),
    location=st.one_of(st.none(), st.builds(Location, st.one_of(st.none(), names), st.none())),
)
inputs = st.lists(st.tuples(st.sampled_from(["ann", "bob", "cas"]), events), max_size=60)


@settings(deadline=None)
@given(inputs, st.sampled_from([0, 1, 20, 100]), st.integers(1, 8), st.sampled_from([0, 50, 600_000]))
def test_same_outputs_and_states(
    records: list[tuple[str, UserActivity]], idle_timeout_ms: int, list_limit: int, dedupe_retention_ms: int
) -> None:
    task = driver(UserSessionsSettings(idle_timeout_ms, list_limit), dedupe_retention_ms)
    for key, event in records:
        task.pipe(key, event)
    until = None
    if task.stream_time >= 0:
        task.advance_wall_time(1000)
        until = task.stream_time + 1000
    outputs, states = replay(
        [(key, plain(event), event.timestamp) for key, event in records],
        idle_timeout_ms,
        list_limit,
        dedupe_retention_ms,
        until,
    )
    assert [(o.key, plain(o.value), o.timestamp) for o in task.outputs] == outputs
    assert {key: plain(state) for key, state in task.store("user-profiles").items()} == states
