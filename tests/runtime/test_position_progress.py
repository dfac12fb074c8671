"""A task never commits a position that goes back or lacks an offset, because records would be processed twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.progress import check_progress

BEFORE = TaskPosition("c1", 3, stream_time=500, closing_time=600, ends=(("orders", 0, 7), ("prices", 0, 2)))


def test_a_position_may_stay_or_move_on() -> None:
    check_progress("app-0-0", BEFORE, replace(BEFORE, n=4))
    check_progress("app-0-0", BEFORE, replace(BEFORE, n=4, stream_time=501, ends=(("orders", 0, 9), ("prices", 0, 2))))


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (replace(BEFORE, stream_time=499), "stream time goes back"),
        (replace(BEFORE, closing_time=599), "closing time goes back"),
        (replace(BEFORE, ends=(("orders", 0, 6), ("prices", 0, 2))), r"offsets of \[\('orders', 0\)\] go back"),
        (replace(BEFORE, ends=(("orders", 0, 7),)), r"offsets of \[\('prices', 0\)\] are missing"),
    ],
)
def test_a_position_that_would_repeat_records_is_refused(after: TaskPosition, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        check_progress("app-0-0", BEFORE, after)
