"""Every change of a title's count is sent as a change event, keyed by title."""

from forebay.catalog import COMPACTED, find_service
from tests.ticket_sales.harness import START, BoxOffice
from ticket_sales.model import MovieTicketSale, TicketsSold, TicketsSoldChange


def test_the_first_sale_inserts_the_titles_row() -> None:
    (change,) = BoxOffice().sell("Aliens", 5)
    assert (change.topic, change.key, change.timestamp) == ("movie_tickets_sold", "Aliens", START + 5)
    assert change.value == TicketsSoldChange("INSERT", None, TicketsSold("Aliens", 1), START + 5)


def test_each_further_sale_updates_it() -> None:
    office = BoxOffice()
    office.sell("Aliens", 5)
    (change,) = office.sell("Aliens", 6)
    assert change.value == TicketsSoldChange("UPDATE", TicketsSold("Aliens", 1), TicketsSold("Aliens", 2), START + 6)


def test_titles_have_counts_of_their_own() -> None:
    office = BoxOffice()
    for title in ["Aliens", "Die Hard", "Aliens", "Aliens"]:
        office.sell(title)
    assert office.sold() == {"Aliens": 3, "Die Hard": 1}


def test_sales_are_counted_not_their_value() -> None:
    office = BoxOffice()
    for value in [0.0, 12.5, 100.0, -12.5]:
        office.sell("Aliens", value=value)
    assert office.sold() == {"Aliens": 4}


def test_a_sale_without_a_value_is_not_counted_and_changes_nothing() -> None:
    office = BoxOffice()
    assert office.sell("Aliens", value=None) == []
    assert office.sold() == {}
    assert office.driver.errors == []


def test_a_late_sale_counts_and_does_not_move_time_backwards() -> None:
    office = BoxOffice()
    office.sell("Aliens", 9)
    (change,) = office.sell("Aliens", 4)
    assert change.value.after == TicketsSold("Aliens", 2)
    assert (change.value.timestamp, change.timestamp) == (START + 9, START + 9)


def test_sales_of_a_title_are_grouped_regardless_of_their_key() -> None:
    office = BoxOffice(tasks=4)
    for number in range(12):
        office.sell("Aliens", number, cinema=f"cinema {number}")
    assert office.sold() == {"Aliens": 12}
    assert [output.value.after.tickets_sold for output in office.driver.outputs] == list(range(1, 13))


def test_before_of_each_change_is_the_after_of_the_previous_one() -> None:
    office = BoxOffice()
    office.driver.run_batch([("odeon", MovieTicketSale(None, "Aliens", 1.0, None, START + at)) for at in range(5)])
    changes = [output.value for output in office.driver.outputs]
    assert [change.before for change in changes] == [None, *[change.after for change in changes[:-1]]]


def test_the_topic_is_compacted() -> None:
    (topic,) = find_service("ticket-sales").outputs
    assert topic.config == COMPACTED
