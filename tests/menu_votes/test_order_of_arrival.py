"""Tables and counts depend on timestamps alone, not on the order of arrival."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from menu_votes.model import CustomerRegion, CustomerVote
from tests.deletes import pipe_each
from tests.menu_votes.harness import START, Poll
from tests.menu_votes.replay import final_stores
from tests.menu_votes.test_replay_agreement import CUSTOMERS, TOPICS, Arrived

pytestmark = pytest.mark.long

choices = st.lists(
    st.tuples(st.sampled_from(CUSTOMERS), st.sampled_from(["curry", "soup", "north", "south"])), max_size=25
)


def events(chosen: list[tuple[str, str]]) -> Arrived:
    """Return an event for each choice, each with a different time."""
    return [
        (customer, CustomerVote(None, None, name, START + at))
        if name in ("curry", "soup")
        else (customer, CustomerRegion(None, None, name, START + at))
        for at, (customer, name) in enumerate(chosen)
    ]


@settings(deadline=None, max_examples=40)
@given(choices, st.randoms(use_true_random=False), st.sampled_from([1, 3]))
def test_shuffled_events_give_the_same_stores(chosen: list[tuple[str, str]], random: Random, tasks: int) -> None:
    arrived = events(chosen)
    random.shuffle(arrived)
    poll = Poll(tasks)
    stores = final_stores(pipe_each(poll.driver, arrived, TOPICS))
    result = poll.stores(set(CUSTOMERS))
    assert {name: result[name] for name in ("votes", "regions")} == {
        name: stores[name] for name in ("votes", "regions")
    }
    for name in ("dish-counts", "region-counts"):
        assert without_zeros(result[name]) == without_zeros(stores[name])


def without_zeros(counts: dict[object, int]) -> dict[object, int]:
    """Return the counts without those of 0, whose existence depends on the order of arrival."""
    return {group: votes for group, votes in counts.items() if votes}
