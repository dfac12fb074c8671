"""Options are checked, and describe how many records they will produce."""

from typing import Any

import pytest

from forebay.producing.base import FIXED_START_MS, Options
from forebay.producing.sources import source_of


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": -1},
        {"count": -1},
        {"duration_s": -0.1},
        {"start_ms": -1},
        {"keys": 0},
        {"event_rate": 0},
        {"max_delay_ms": 0},
        {"out_of_order": 1.1},
        {"duplicates": -0.1},
        {"malformed": 2},
    ],
)
def test_senseless_values_are_refused_by_name(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name} is {value}: use"):
        Options(**wrong)


def test_shares_must_leave_room_for_ordinary_records() -> None:
    with pytest.raises(ValueError, match="lower one of them"):
        Options(out_of_order=0.5, duplicates=0.5)


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (Options(), None),
        (Options(count=5), 5),
        (Options(rate=10, duration_s=2), 20),
        (Options(rate=10, duration_s=2, count=7), 7),
        (Options(rate=10, duration_s=2, count=70), 20),
        (Options(duration_s=2), None),
    ],
)
def test_limit(options: Options, limit: int | None) -> None:
    assert options.limit == limit


def test_a_paced_run_starts_now_and_an_unpaced_one_at_the_fixed_time() -> None:
    assert Options(rate=1).started_at(123).start_ms == 123
    assert Options(rate=0).started_at(123).start_ms == FIXED_START_MS
    assert Options(rate=1, start_ms=7).started_at(123).start_ms == 7


def test_an_unknown_topic_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'clicks': choose one of .*user_activity"):
        source_of("clicks")
