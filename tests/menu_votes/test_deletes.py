"""A record without a value deletes a customer's vote or region."""

import pytest

from tests.menu_votes.harness import Poll


def test_deleted_vote_is_not_counted() -> None:
    poll = Poll()
    poll.live(0, "Anna", "north")
    poll.vote(0, "Anna", "curry")
    poll.vote(0, "Bob", "curry")
    assert poll.take_back(1, "Anna") == {"curry": 1, ("north", "curry"): 0}
    assert poll.vote(2, "Anna", "soup") == {"soup": 1, ("north", "soup"): 1}


def test_customer_without_a_region_still_counts_in_the_total() -> None:
    poll = Poll()
    poll.live(0, "Anna", "north")
    poll.vote(0, "Anna", "curry")
    assert poll.take_back(1, "Anna", "customer_regions") == {("north", "curry"): 0}
    assert poll.stores({"Anna"})["dish-counts"] == {"curry": 1}
    assert poll.live(2, "Anna", "south") == {("south", "curry"): 1}


def test_a_late_delete_changes_nothing_that_is_newer() -> None:
    poll = Poll()
    poll.live(0, "Anna", "north")
    poll.vote(5, "Anna", "curry")
    before = poll.stores({"Anna"})
    assert poll.take_back(4, "Anna") == {}
    assert poll.stores({"Anna"}) == before


def test_older_vote_that_arrives_after_the_delete_is_ignored() -> None:
    poll = Poll()
    poll.vote(0, "Anna", "curry")
    poll.take_back(5, "Anna")
    assert poll.vote(4, "Anna", "soup") == {}
    assert poll.stores({"Anna"})["votes"] == {}


@pytest.mark.parametrize("topic", ["customer_votes", "customer_regions"])
def test_a_missing_object_may_be_deleted(topic: str) -> None:
    poll = Poll()
    poll.vote(0, "Bob", "curry")
    assert poll.take_back(1, "Anna", topic) == {}
    assert poll.driver.errors == []


def test_delete_older_than_the_history_is_late() -> None:
    poll = Poll(history_retention_ms=10)
    poll.vote(0, "Anna", "curry")
    poll.vote(100, "Bob", "curry")
    assert poll.take_back(89, "Anna") == {}
    (late,) = poll.driver.late
    assert (late.key, late.value, late.headers["late.by_ms"]) == (b"Anna", None, "1")
    assert poll.stores({"Anna"})["dish-counts"] == {"curry": 2}


def test_deletes_survive_a_restart() -> None:
    poll = Poll()
    poll.vote(0, "Anna", "curry")
    poll.take_back(5, "Anna")
    poll.driver.restart()
    assert poll.vote(4, "Anna", "soup") == {}
    assert poll.vote(6, "Anna", "soup") == {"soup": 1}
