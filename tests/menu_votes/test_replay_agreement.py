"""The service and the independent replay produce the same counts and tables for any input and number of tasks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.partitioner import partition_of
from forebay.producing.base import Options
from forebay.producing.sources import generate
from menu_votes.model import CustomerRegion, CustomerVote
from tests.deletes import Delete, pipe_each
from tests.menu_votes.harness import START, Poll
from tests.menu_votes.replay import Output, replay

TOPICS = {CustomerVote: "customer_votes", CustomerRegion: "customer_regions"}
CUSTOMERS = ["ann", "bob", "cas", "dee"]
ids = st.one_of(st.none(), st.integers(0, 20).map(str))
times = st.integers(START, START + 200)
votes = st.builds(CustomerVote, ids, st.none(), st.sampled_from(["curry", "soup", "pho", ""]), times)
regions = st.builds(CustomerRegion, ids, st.none(), st.sampled_from(["north", "south", ""]), times)
deletes = st.builds(Delete, st.sampled_from(["customer_votes", "customer_regions"]), times)
inputs = st.lists(st.tuples(st.sampled_from(CUSTOMERS), st.one_of(votes, regions, deletes)), max_size=50)

Arrived = list[tuple[str, CustomerVote | CustomerRegion | Delete]]


def by_group(outputs: Iterable[Output]) -> dict[tuple[str, ...], list[Output]]:
    """Return each group's outputs in order. The order among groups depends on the tasks that count them."""
    groups: dict[tuple[str, ...], list[Output]] = {}
    for output in outputs:
        group = (output[0], output[1].get("region", ""), output[1]["dish"])
        groups.setdefault(group, []).append(output)
    return groups


@settings(deadline=None, max_examples=40)
@given(inputs, st.sampled_from([0, 30, 600_000]), st.sampled_from([0, 50, 600_000]))
def test_same_counts_and_tables(arrived: Arrived, history_retention_ms: int, dedupe_retention_ms: int) -> None:
    poll = Poll(1, dedupe_retention_ms, history_retention_ms=history_retention_ms)
    outputs, stores = replay(pipe_each(poll.driver, arrived, TOPICS), history_retention_ms, dedupe_retention_ms)
    assert by_group(poll.results()) == by_group(outputs)
    assert poll.stores(set(CUSTOMERS)) == stores


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_generated_votes_and_moves_late_and_repeated(tasks: int) -> None:
    options = Options(count=400, keys=60, out_of_order=0.2, duplicates=0.05, event_rate=20)
    voted, moved = generate("customer_votes", options), generate("customer_regions", options)
    arrived: Arrived = [(event.key, event.value) for pair in zip(voted, moved, strict=True) for event in pair]
    poll = Poll(tasks)
    records = pipe_each(poll.driver, arrived, TOPICS)
    outputs, stores = replay(records, task_of=lambda key: partition_of(key.encode(), tasks))
    assert poll.stores({key for key, _ in arrived}) == stores
    assert by_group(poll.results()) == by_group(outputs)
    assert len(outputs) > 1000
    assert poll.driver.duplicates > 10
    assert sum(stores["dish-counts"].values()) == 60


def test_batch_boundaries_do_not_change_counts() -> None:
    options = Options(count=600, keys=40, out_of_order=0.2, event_rate=20)
    arrived: Arrived = [(event.key, event.value) for event in generate("customer_votes", options)]
    whole, apart = Poll(2), Poll(2)
    whole.driver.run_batch(arrived, "customer_votes")
    pipe_each(apart.driver, arrived, TOPICS)
    customers = {key for key, _ in arrived}
    assert whole.stores(customers) == apart.stores(customers)
