"""The logic and the independent replay produce the same outputs, late clicks and stores for any input."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.producing.base import Options
from forebay.producing.sources import generate
from session_analytics.model import DeviceInfo, Interaction, PageMetadata, SessionInfo, UserClick
from tests.plain import plain
from tests.session_analytics.harness import START, driver, stores
from tests.session_analytics.replay import Task, replay

pytestmark = pytest.mark.long

names = st.sampled_from(["", "a", "b", "c", "d", "e", "f"])
maybe = st.one_of(st.none(), names)
flags = st.sampled_from([None, False, True])
clicks = st.builds(
    UserClick,
    click_id=st.one_of(st.none(), st.integers(0, 60).map(str)),
    user_id=st.none(),
    page=names,
    duration_on_page=st.integers(-1, 1000),
    timestamp=st.integers(START, START + 400),
    sequence_number=st.one_of(st.none(), st.integers(1, 9)),
    user_agent=maybe,
    device_info=st.one_of(st.none(), st.builds(DeviceInfo, maybe, st.none(), st.none())),
    referrer=maybe,
    session_info=st.one_of(st.none(), st.builds(SessionInfo, flags)),
    page_metadata=st.one_of(st.none(), st.builds(PageMetadata, maybe, flags, flags)),
    interaction=st.one_of(st.none(), st.builds(Interaction, maybe)),
)
steps = st.one_of(st.tuples(st.sampled_from(["ann", "bob", "é"]), clicks), st.sampled_from(["idle", "restart"]))
chosen = st.fixed_dictionaries(
    {
        "gap_ms": st.integers(1, 60),
        "grace_ms": st.sampled_from([0, 1, 30]),
        "retention_ms": st.sampled_from([90, 150, 10_000]),
        "list_limit": st.integers(1, 4),
    }
)


@settings(deadline=None, max_examples=80)
@given(st.lists(steps, max_size=50), chosen, st.sampled_from([0, 50, 600_000]))
def test_same_outputs_late_clicks_and_stores(
    generated_steps: list[Any], given_settings: dict[str, int], dedupe_retention_ms: int
) -> None:
    task = driver(dedupe_retention_ms, idle_timeout_ms=100, **given_settings)
    expected = Task(**given_settings, dedupe_retention_ms=dedupe_retention_ms)
    for step in generated_steps:
        if step == "restart":
            task.restart()
        elif step == "idle":
            if task.stream_time >= 0:
                expected.idle(task.stream_time + 1000)
            task.advance_wall_time(1000)
        else:
            key, event = step
            task.pipe(key, event)
            expected.take(key, plain(event), event.timestamp)
    assert [(o.key, plain(o.value), o.timestamp) for o in task.outputs] == expected.outputs
    late = [(f.key.decode(), int(f.headers["late.by_ms"])) for f in task.late if f.key is not None]
    assert late == [(key, by_ms) for key, _, by_ms in expected.late]
    assert stores(task) == expected.stores()


@pytest.mark.parametrize("batch", [1, 500])
@pytest.mark.parametrize(
    "shares",
    [{}, {"out_of_order": 0.2, "duplicates": 0.1, "max_delay_ms": 90_000}],
    ids=["in order", "out of order and repeated"],
)
def test_generated_clicks_in_any_batches_equal_the_replay(batch: int, shares: dict[str, Any]) -> None:
    events = list(generate("user_clicks", Options(count=3_000, keys=150, event_rate=15, **shares)))
    task = driver()
    for first in range(0, len(events), batch):
        task.run_batch([(event.key, event.value) for event in events[first : first + batch]])
    until = task.stream_time + 30_001
    task.advance_wall_time(30_001)
    outputs, expected = replay([(e.key, plain(e.value), e.timestamp) for e in events], until=until)
    assert [(o.key, plain(o.value), o.timestamp) for o in task.outputs] == outputs
    assert stores(task) == expected
    assert sum(o.value.session_status == "ended" for o in task.outputs) > 200
    assert bool(task.late) == bool(shares)
