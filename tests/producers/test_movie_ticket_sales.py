"""Cinemas sell tickets of the same titles, a few of which make most of the sales."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from ticket_sales.model import MovieTicketSale

CINEMAS = 50


@pytest.fixture(scope="module")
def events() -> list[Event[MovieTicketSale]]:
    return list(generate("movie_ticket_sales", Options(count=10_000, keys=CINEMAS)))


def test_records_are_keyed_by_cinema_at_their_time(events: list[Event[MovieTicketSale]]) -> None:
    assert all(event.key == event.value.cinema for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)
    assert len({event.value.event_id for event in events}) == len(events)
    assert len({event.key for event in events}) == CINEMAS


def test_a_title_is_sold_at_many_cinemas(events: list[Event[MovieTicketSale]]) -> None:
    cinemas: dict[str, set[str]] = defaultdict(set)
    for event in events:
        cinemas[event.value.title].add(event.key)
    assert len(cinemas) == 16
    assert min(len(sold_at) for sold_at in cinemas.values()) > CINEMAS // 2


def test_few_titles_make_most_of_the_sales(events: list[Event[MovieTicketSale]]) -> None:
    counts = Counter(event.value.title for event in events).most_common()
    assert sum(count for _, count in counts[:4]) > len(events) / 2
    assert counts[-1][1] > 100


def test_values_are_whole_numbers_of_tickets_and_sometimes_unknown(events: list[Event[MovieTicketSale]]) -> None:
    values = [event.value.ticket_total_value for event in events]
    unknown = sum(value is None for value in values)
    assert 0.01 < unknown / len(values) < 0.03
    assert all(6 <= value <= 8 * 17 and (value * 4).is_integer() for value in values if value is not None)


def test_the_same_options_give_the_same_sales_and_others_other_ids() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    sales = list(generate("movie_ticket_sales", options))
    assert sales == list(generate("movie_ticket_sales", options))
    others = generate("movie_ticket_sales", Options(count=300, keys=20, seed=2))
    assert not {sale.value.event_id for sale in sales} & {sale.value.event_id for sale in others}


def test_late_sales_come_when_asked_for() -> None:
    events = list(generate("movie_ticket_sales", Options(count=1000, keys=20, out_of_order=0.2)))
    assert sum(after.timestamp < before.timestamp for before, after in pairwise(events)) > 50
