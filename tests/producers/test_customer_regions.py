"""Guests register one after the other and move later; the same guests vote."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from menu_votes.model import CustomerRegion

GUESTS = 500


@pytest.fixture(scope="module")
def events() -> list[Event[CustomerRegion]]:
    return list(generate("customer_regions", Options(count=5000, keys=GUESTS)))


def test_records_are_keyed_by_customer_at_their_time(events: list[Event[CustomerRegion]]) -> None:
    assert all(event.key == event.value.customer for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)
    assert len({event.value.event_id for event in events}) == len(events)


def test_all_customers_register_before_any_moves(events: list[Event[CustomerRegion]]) -> None:
    assert len({event.key for event in events[:GUESTS]}) == GUESTS
    assert {event.key for event in events} == {event.key for event in events[:GUESTS]}


def test_the_guests_are_the_voters(events: list[Event[CustomerRegion]]) -> None:
    voters = {event.key for event in generate("customer_votes", Options(count=5000, keys=GUESTS))}
    assert voters == {event.key for event in events}


def test_regions_differ_in_size(events: list[Event[CustomerRegion]]) -> None:
    counts = Counter(event.value.region for event in events)
    assert len(counts) == 5
    assert counts["west"] > counts["east"] > counts["islands"] > 0


def test_some_move_within_their_region(events: list[Event[CustomerRegion]]) -> None:
    regions: dict[str, list[str]] = defaultdict(list)
    for event in events:
        regions[event.key].append(event.value.region)
    stays = [before == after for lived in regions.values() for before, after in pairwise(lived)]
    assert 0.1 < sum(stays) / len(stays) < 0.4


def test_the_same_options_give_the_same_moves() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    assert list(generate("customer_regions", options)) == list(generate("customer_regions", options))
    assert list(generate("customer_regions", options)) != list(generate("customer_regions", Options(count=300, seed=2)))
