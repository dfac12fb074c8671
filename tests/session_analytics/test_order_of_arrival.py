"""The final state of a session does not depend on the order in which its clicks arrived."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from session_analytics.model import PageMetadata
from tests.plain import plain
from tests.session_analytics.harness import SECOND, click, driver

times = st.lists(st.integers(0, 120).map(lambda second: second * SECOND), min_size=1, max_size=12, unique=True)


@settings(deadline=None, max_examples=25)
@given(times, st.randoms(use_true_random=False))
def test_any_order_gives_the_same_ended_sessions(at: list[int], random: Random) -> None:
    events = [
        click(item, f"/{item}", duration_on_page=item, page_metadata=PageMetadata(f"c{item % 7}", None, item % 3 == 0))
        for item in at
    ]
    ended = []
    for order in (sorted(events, key=lambda event: event.timestamp), random.sample(events, len(events))):
        task = driver(gap_ms=10 * SECOND, grace_ms=120 * SECOND)
        task.run_batch([("ann", event) for event in order])
        ended.append([plain(output.value) for output in task.advance_wall_time(130 * SECOND + 1)])
    assert ended[0] == ended[1]
    assert ended[0][0]["user_profile"]["total_sessions"] == len(ended[0])
