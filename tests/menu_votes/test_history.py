"""A vote or region that is too much older than the newest one goes to .late and changes nothing."""

import pytest

from menu_votes.settings import MenuVotesSettings
from tests.menu_votes.harness import START, Poll


def test_history_includes_its_lower_bound() -> None:
    poll = Poll(history_retention_ms=1000)
    poll.vote(5000, "Anna", "curry")
    assert poll.vote(4000, "Bob", "curry") == {"curry": 2}
    assert poll.driver.late == []


def test_records_before_it_are_late() -> None:
    poll = Poll(history_retention_ms=1000)
    poll.vote(5000, "Anna", "curry")
    assert poll.vote(3999, "Bob", "curry") == {}
    (late,) = poll.driver.late
    assert late.key == b"Bob"
    assert late.headers == {"late.by_ms": "1", "late.stream_time": str(START + 5000)}
    assert poll.stores({"Anna", "Bob"})["votes"] == {"Anna": ("curry", START + 5000)}


def test_votes_and_regions_have_histories_of_their_own() -> None:
    poll = Poll(history_retention_ms=1000)
    poll.vote(5000, "Anna", "curry")
    assert poll.live(0, "Anna", "north") == {("north", "curry"): 1}
    poll.live(2000, "Bob", "north")
    assert poll.live(999, "Cas", "north") == {}
    assert [late.key for late in poll.driver.late] == [b"Cas"]


def test_late_vote_is_not_a_duplicate_of_itself() -> None:
    poll = Poll(history_retention_ms=0)
    poll.vote(5, "Anna", "curry")
    poll.vote(4, "Bob", "curry", event_id="e-1")
    poll.vote(4, "Bob", "curry", event_id="e-1")
    assert len(poll.driver.late) == 2
    assert poll.driver.duplicates == 0


def test_a_senseless_setting_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="history_retention_ms is -1: use"):
        MenuVotesSettings(-1)
