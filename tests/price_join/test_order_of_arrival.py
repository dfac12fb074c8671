"""If the grace is as long as the longest delay, bills depend on timestamps, not on the order of arrival."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from price_join.model import FoodOrder, MenuPrice
from price_join.settings import Unpriced
from tests.deletes import pipe_each
from tests.price_join.harness import START, Kitchen
from tests.price_join.replay import final_bills
from tests.price_join.test_replay_agreement import TOPICS

SPAN = 40
items = st.sampled_from(["curry", "soup"])
drafts = st.lists(st.tuples(items, st.one_of(st.none(), st.sampled_from([2.5, 8.0, 10.0]))), max_size=SPAN)


def events(drawn: list[tuple[str, float | None]]) -> list[tuple[str, MenuPrice | FoodOrder]]:
    """Return an event for each choice: a price, or an order if the price is None. All times differ."""
    return [
        (
            item,
            FoodOrder(f"o-{at}", "ann", item, 1, START + at) if price is None else MenuPrice(item, price, START + at),
        )
        for at, (item, price) in enumerate(drawn)
    ]


@settings(deadline=None, max_examples=60)
@given(drafts, st.randoms(use_true_random=False), st.sampled_from(Unpriced))
def test_shuffled_events_give_the_same_bills(
    drawn: list[tuple[str, float | None]], random: Random, join: Unpriced
) -> None:
    arrived = events(drawn)
    random.shuffle(arrived)
    kitchen = Kitchen(grace_ms=SPAN, join=join)
    records = pipe_each(kitchen.driver, arrived, TOPICS)
    kitchen.pause(SPAN)
    assert kitchen.results() == final_bills(records, join.value)
