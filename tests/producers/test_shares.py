"""Late, repeated and malformed records come in the requested shares."""

from collections import Counter

import pytest

from forebay.producing.base import Defect, Event, Options
from forebay.producing.sources import generate
from user_sessions.model import UserActivity

pytestmark = pytest.mark.long

COUNT = 20_000


def records(**shares: float) -> list[Event[UserActivity]]:
    return list(generate("user_activity", Options(count=COUNT, keys=500, **shares)))  # type: ignore[arg-type]


def share_late(events: list[Event[UserActivity]]) -> float:
    late, newest = 0, -1
    for event in events:
        late += event.timestamp < newest
        newest = max(newest, event.timestamp)
    return late / len(events)


def share_repeated(events: list[Event[UserActivity]]) -> float:
    return 1 - len({event.value.event_id for event in events}) / len(events)


def test_without_shares_all_is_in_order_and_once() -> None:
    events = records()
    assert share_late(events) == 0
    assert share_repeated(events) == 0
    assert not any(event.defect for event in events)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
def test_share_out_of_order(share: float) -> None:
    events = records(out_of_order=share)
    assert share_late(events) == pytest.approx(share, rel=0.12)
    assert share_repeated(events) == 0


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
def test_share_of_duplicates(share: float) -> None:
    events = records(duplicates=share)
    assert share_repeated(events) == pytest.approx(share, rel=0.12)
    first: dict[str | None, Event[UserActivity]] = {}
    for event in events:
        assert first.setdefault(event.value.event_id, event) == event


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_share_of_malformed_and_every_kind(share: float) -> None:
    events = records(malformed=share)
    kinds = Counter(event.defect for event in events if event.defect)
    assert kinds.total() / COUNT == pytest.approx(share, rel=0.12)
    assert set(kinds) == set(Defect)
    assert max(kinds.values()) - min(kinds.values()) <= 1


def test_all_shares_together_keep_the_count() -> None:
    events = records(out_of_order=0.2, duplicates=0.1, malformed=0.1)
    assert len(events) == COUNT
    assert sum(1 for event in events if event.defect) / COUNT == pytest.approx(0.1, rel=0.12)
    assert share_repeated(events) == pytest.approx(0.1, rel=0.12)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_small_counts_are_kept_and_lose_nothing(count: int) -> None:
    options = Options(count=count, keys=5, out_of_order=0.5)
    events = list(generate("user_activity", options))
    assert len(events) == count
    assert sorted(event.value.event_id or "" for event in events) == sorted(
        event.value.event_id or "" for event in generate("user_activity", Options(count=count, keys=5))
    )


def test_no_record_comes_later_than_the_longest_delay() -> None:
    options = Options(count=COUNT, out_of_order=0.3, max_delay_ms=50, event_rate=1000)
    newest = -1
    for event in list(generate("user_activity", options))[:-200]:
        newest = max(newest, event.timestamp)
        assert newest - event.timestamp <= 2 * 50
