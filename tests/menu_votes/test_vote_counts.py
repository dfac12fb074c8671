"""Votes per dish count each customer's latest vote by timestamp once."""

from tests.menu_votes.harness import START, Poll


def test_older_vote_that_arrives_late_changes_no_count() -> None:
    poll = Poll()
    assert poll.vote(4, "Anna", "berry sandwich") == {"berry sandwich": 1}
    assert poll.vote(3, "Anna", "ice cream noodles") == {}
    assert poll.stores({"Anna"})["dish-counts"] == {"berry sandwich": 1}


def test_votes_add_up() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    assert poll.vote(2, "Bob", "curry") == {"curry": 2}
    assert poll.vote(3, "Cas", "soup") == {"soup": 1}


def test_a_changed_vote_leaves_one_dish_and_enters_another() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    poll.vote(2, "Bob", "curry")
    assert poll.vote(3, "Anna", "soup") == {"curry": 1, "soup": 1}
    assert poll.vote(4, "Bob", "soup") == {"curry": 0, "soup": 2}


def test_repeated_vote_is_counted_once() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    assert poll.vote(2, "Anna", "curry") == {"curry": 1}


def test_vote_with_an_equal_timestamp_replaces_the_previous_vote() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    assert poll.vote(1, "Anna", "soup") == {"curry": 0, "soup": 1}


def test_count_has_the_largest_timestamp_of_its_votes() -> None:
    poll = Poll()
    poll.vote(9, "Anna", "curry")
    poll.vote(5, "Bob", "curry")
    assert [output.timestamp for output in poll.driver.outputs] == [START + 9, START + 9]
    assert [output.key for output in poll.driver.outputs] == ["curry", "curry"]
