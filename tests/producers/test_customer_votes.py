"""Guests vote for dishes of different popularity, and change their minds."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from menu_votes.model import CustomerVote

GUESTS = 500


@pytest.fixture(scope="module")
def events() -> list[Event[CustomerVote]]:
    return list(generate("customer_votes", Options(count=10_000, keys=GUESTS)))


def test_records_are_keyed_by_customer_at_their_time(events: list[Event[CustomerVote]]) -> None:
    assert all(event.key == event.value.customer for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)
    assert len({event.value.event_id for event in events}) == len(events)


def test_every_customer_votes_and_some_more_often(events: list[Event[CustomerVote]]) -> None:
    counts = Counter(event.key for event in events).most_common()
    assert len(counts) == GUESTS
    assert counts[0][1] > 3 * counts[GUESTS // 2][1]


def test_dishes_differ_in_popularity(events: list[Event[CustomerVote]]) -> None:
    counts = Counter(event.value.dish for event in events).most_common()
    assert len(counts) == 12
    assert counts[0][1] > 3 * counts[-1][1]


def test_votes_are_changed_and_repeated(events: list[Event[CustomerVote]]) -> None:
    votes: dict[str, list[str]] = defaultdict(list)
    for event in events:
        votes[event.key].append(event.value.dish)
    again = [before == after for dishes in votes.values() for before, after in pairwise(dishes)]
    assert 0.3 < sum(again) / len(again) < 0.5


def test_another_run_has_other_ids(events: list[Event[CustomerVote]]) -> None:
    ids = {event.value.event_id for event in events}
    assert not ids & {event.value.event_id for event in generate("customer_votes", Options(count=500, seed=2))}
    assert not ids & {event.value.event_id for event in generate("customer_votes", Options(count=500, start_ms=7))}


def test_the_same_options_give_the_same_votes() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    assert list(generate("customer_votes", options)) == list(generate("customer_votes", options))
