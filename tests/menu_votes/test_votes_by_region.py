"""Votes per region and dish join each customer's latest vote and region by timestamp."""

from forebay.stores.keys import join_key
from tests.menu_votes.harness import START, Poll


def test_a_vote_counts_in_its_customers_region_whichever_comes_first() -> None:
    poll = Poll()
    poll.live(1, "Anna", "north")
    assert poll.vote(2, "Anna", "curry") == {"curry": 1, ("north", "curry"): 1}
    assert poll.vote(2, "Bob", "curry") == {"curry": 2}
    assert poll.live(3, "Bob", "north") == {("north", "curry"): 2}


def test_vote_moves_with_the_customer_to_another_region() -> None:
    poll = Poll()
    poll.live(1, "Anna", "north")
    poll.vote(2, "Anna", "curry")
    assert poll.live(3, "Anna", "south") == {("north", "curry"): 0, ("south", "curry"): 1}


def test_a_changed_vote_stays_in_the_region() -> None:
    poll = Poll()
    poll.live(1, "Anna", "north")
    poll.vote(2, "Anna", "curry")
    assert poll.vote(3, "Anna", "soup") == {"curry": 0, "soup": 1, ("north", "curry"): 0, ("north", "soup"): 1}


def test_an_older_region_that_arrives_late_changes_nothing() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    poll.live(5, "Anna", "north")
    assert poll.live(4, "Anna", "south") == {}
    assert poll.stores(set())["region-counts"] == {("north", "curry"): 1}


def test_an_older_vote_that_arrives_late_changes_no_region_either() -> None:
    poll = Poll()
    poll.live(1, "Anna", "north")
    poll.vote(5, "Anna", "curry")
    assert poll.vote(4, "Anna", "soup") == {}
    assert poll.stores(set())["region-counts"] == {("north", "curry"): 1}


def test_the_latest_of_each_side_are_joined_regardless_of_events_in_between() -> None:
    poll = Poll()
    poll.vote(100, "Anna", "curry")
    assert poll.live(1, "Anna", "north") == {("north", "curry"): 1}
    assert poll.driver.outputs[-1].timestamp == START + 100


def test_a_customer_without_a_region_counts_in_none() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    assert poll.stores(set())["region-counts"] == {}


def test_a_customer_without_a_vote_counts_nowhere() -> None:
    poll = Poll()
    assert poll.live(1, "Anna", "north") == {}


def test_region_and_dish_are_parts_of_the_key() -> None:
    poll = Poll()
    poll.live(1, "Anna", "a:b")
    poll.live(1, "Bob", "a")
    poll.vote(2, "Anna", "c")
    assert poll.vote(2, "Bob", "b:c") == {"b:c": 1, ("a", "b:c"): 1}
    keys = [output.key for output in poll.driver.outputs if output.topic == "votes_by_region"]
    assert keys == [join_key("a:b", "c"), join_key("a", "b:c")]
