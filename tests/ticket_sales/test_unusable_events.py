"""Invalid sales go to .errors and change nothing."""

import pytest

from tests.ticket_sales.harness import START, BoxOffice


def test_an_empty_title_is_rejected_with_the_reason() -> None:
    office = BoxOffice()
    office.sell("Aliens")
    assert office.sell("") == []
    (failure,) = office.driver.errors
    assert failure.headers["error.stage"] == "process"
    assert failure.headers["error.message"] == "title is empty: the producer must name the movie"
    assert office.sold() == {"Aliens": 1}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [(b"odeon", b"\x02", "bytes"), (b"odeon", None, "value is null"), (None, b"\x02", "key is null")],
)
def test_undecodable_records_change_nothing(key: bytes | None, value: bytes | None, reason: str) -> None:
    office = BoxOffice()
    assert office.driver.pipe_bytes(key, value, START) == []
    (failure,) = office.driver.errors
    assert failure.headers["error.stage"] == "decode"
    assert reason in failure.headers["error.message"]
    assert office.sold() == {}


def test_a_negative_time_is_an_error() -> None:
    office = BoxOffice()
    assert office.sell("Aliens", -START - 1) == []
    assert "event time -1 is negative" in office.driver.errors[0].headers["error.message"]


def test_a_repeated_event_id_is_counted_once() -> None:
    office = BoxOffice()
    office.sell("Aliens", event_id="e-1")
    assert office.sell("Aliens", event_id="e-1") == []
    assert office.sell("Aliens", event_id="e-2")[0].value.after.tickets_sold == 2
    assert office.driver.duplicates == 1


def test_sales_without_an_id_are_never_repetitions() -> None:
    office = BoxOffice()
    office.sell("Aliens")
    office.sell("Aliens")
    assert office.sold() == {"Aliens": 2}
