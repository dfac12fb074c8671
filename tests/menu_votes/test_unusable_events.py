"""Invalid votes and regions go to .errors and change nothing."""

import pytest

from menu_votes.model import CustomerRegion, CustomerVote
from tests.menu_votes.harness import START, Poll


@pytest.mark.parametrize(
    ("topic", "event", "reason"),
    [
        ("customer_votes", CustomerVote(None, None, "", START), "dish is empty: the producer must name the dish"),
        ("customer_regions", CustomerRegion(None, None, "", START), "region is empty: the producer must name"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(
    topic: str, event: CustomerVote | CustomerRegion, reason: str
) -> None:
    poll = Poll()
    poll.live(0, "Anna", "north")
    poll.vote(0, "Anna", "curry")
    before = poll.stores({"Anna"})
    assert poll.driver.pipe("Anna", event, topic) == []
    (failure,) = poll.driver.errors
    assert (failure.headers["error.stage"], failure.headers["error.topic"]) == ("process", topic)
    assert reason in failure.headers["error.message"]
    assert poll.stores({"Anna"}) == before


@pytest.mark.parametrize("topic", ["customer_votes", "customer_regions"])
@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [(b"Anna", b"\x02", "bytes"), (None, b"\x02", "key is null"), (None, None, "key is null")],
)
def test_undecodable_records_change_nothing(topic: str, key: bytes | None, value: bytes | None, reason: str) -> None:
    poll = Poll()
    poll.vote(0, "Anna", "curry")
    assert poll.driver.pipe_bytes(key, value, START, topic) == []
    (failure,) = poll.driver.errors
    assert (failure.headers["error.stage"], failure.headers["error.topic"]) == ("decode", topic)
    assert reason in failure.headers["error.message"]
    assert poll.stores(set())["dish-counts"] == {"curry": 1}


def test_a_repeated_event_id_changes_nothing() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry", event_id="e-1")
    assert poll.vote(2, "Anna", "soup", event_id="e-1") == {}
    assert poll.driver.duplicates == 1


def test_a_vote_and_a_region_may_have_the_same_id() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry", event_id="e-1")
    assert poll.live(1, "Anna", "north", event_id="e-1") == {("north", "curry"): 1}


def test_events_without_an_id_are_never_repetitions() -> None:
    poll = Poll()
    poll.vote(1, "Anna", "curry")
    assert poll.vote(1, "Anna", "curry") == {"curry": 1}
    assert poll.driver.duplicates == 0
