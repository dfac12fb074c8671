"""Two tables of sessions are joined when their results are final, also of a session that the store already hides."""

from __future__ import annotations

import pytest

from forebay.builder import Topology
from forebay.operators.results import Emission
from forebay.testing import TestDriver
from forebay.time.sessions import SessionWindows

SESSIONS = SessionWindows(4, 4)


@pytest.mark.parametrize("other", [18, 19, 20, 21])
@pytest.mark.parametrize("emission", [Emission.FINAL, Emission.BOTH])
@pytest.mark.parametrize("join", ["join", "outer_join"])
def test_final_sessions_of_both_tables_are_joined(join: str, emission: Emission, other: int) -> None:
    topology = Topology()
    left, right = (
        topology.stream(topic, str).group_by_key().windowed_by(SESSIONS, emission).count(store=topic) for topic in "lr"
    )
    getattr(left, join)(right, lambda a, b: f"{a}/{b}", str).to_stream().to("o")
    driver = TestDriver(topology)
    for topic, key, time in (("l", "k", 12), ("r", "k", 12), ("l", "other", other), ("l", "other", 40)):
        driver.pipe(key, "x", topic, time)
    assert [output.value for output in driver.outputs if output.key.key == "k"][-1] == "1/1"
