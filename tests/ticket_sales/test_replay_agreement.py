"""The service and the independent replay produce the same changes and counts for any input and number of tasks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.partitioner import partition_of
from forebay.producing.base import Options
from forebay.producing.sources import generate
from tests.plain import plain
from tests.ticket_sales.harness import START, BoxOffice
from tests.ticket_sales.replay import Output, Value, replay
from ticket_sales.model import MovieTicketSale

sales = st.builds(
    MovieTicketSale,
    st.one_of(st.none(), st.integers(0, 20).map(str)),
    st.sampled_from(["Aliens", "Die Hard", ""]),
    st.sampled_from([None, 0.0, 12.5]),
    st.none(),
    st.integers(START, START + 300),
)
inputs = st.lists(st.tuples(st.sampled_from(["odeon", "rex"]), sales), max_size=50)


def by_title(outputs: Iterable[Output]) -> dict[str, list[Value]]:
    """Return each title's changes in order."""
    titles: dict[str, list[Value]] = {}
    for title, change, _ in outputs:
        titles.setdefault(title, []).append(change)
    return titles


@settings(deadline=None, max_examples=30)
@given(inputs, st.sampled_from([0, 50, 600_000]))
def test_same_changes_and_counts(arrived: list[tuple[str, MovieTicketSale]], dedupe_retention_ms: int) -> None:
    office = BoxOffice(dedupe_retention_ms=dedupe_retention_ms)
    for key, sale in arrived:
        office.driver.pipe(key, sale)
    records = [(key, plain(sale), sale.timestamp) for key, sale in arrived]
    outputs, stores = replay(records, dedupe_retention_ms)
    assert office.results() == outputs
    assert office.table() == stores


@pytest.mark.long
@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_generated_sales_late_and_repeated(tasks: int) -> None:
    options = Options(count=800, keys=30, out_of_order=0.2, duplicates=0.05, event_rate=20)
    arrived = list(generate("movie_ticket_sales", options))
    office = BoxOffice(tasks)
    for event in arrived:
        office.driver.pipe(event.key, event.value)
    outputs, stores = replay(
        [(event.key, plain(event.value), event.timestamp) for event in arrived],
        task_of=lambda key: partition_of(key.encode(), tasks),
    )
    assert office.table() == stores
    assert by_title(office.results()) == by_title(outputs)
    assert len(outputs) > 650
    assert office.driver.duplicates > 20


def test_batch_boundaries_do_not_change_counts() -> None:
    arrived = [(event.key, event.value) for event in generate("movie_ticket_sales", Options(count=600, keys=30))]
    whole, apart = BoxOffice(2), BoxOffice(2)
    whole.driver.run_batch(arrived)
    for key, sale in arrived:
        apart.driver.pipe(key, sale)
    assert whole.table() == apart.table()
