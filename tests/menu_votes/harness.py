"""The service under test, as a poll that receives votes and regions."""

from __future__ import annotations

from typing import Any

from forebay.processor.bound_stores import declared_stores
from forebay.stores.keys import split_key
from forebay.testing import Forwarded, TestDriver
from menu_votes.model import CustomerRegion, CustomerVote
from menu_votes.settings import MenuVotesSettings
from tests.menu_votes.replay import Output, Stores
from tests.plain import plain

START = 1_735_689_600_000

Changes = dict[str | tuple[str, str], int]
"""Votes by dish, and by (region, dish)."""


class Poll:
    """A test driver for the service with both sub-topologies. Times are ms after START."""

    def __init__(self, tasks: int = 1, dedupe_retention_ms: int = 600_000, **settings: int) -> None:
        self.driver = TestDriver(
            "menu-votes",
            tasks=tasks,
            settings=MenuVotesSettings(**settings),
            dedupe_retention_ms=dedupe_retention_ms,
        )

    def vote(self, at: int, customer: str, dish: str, event_id: str | None = None) -> Changes:
        """Vote, and return the counts that this changes."""
        return counts(self.driver.pipe(customer, CustomerVote(event_id, None, dish, START + at), "customer_votes"))

    def live(self, at: int, customer: str, region: str, event_id: str | None = None) -> Changes:
        """Register in a region, and return the counts that this changes."""
        event = CustomerRegion(event_id, None, region, START + at)
        return counts(self.driver.pipe(customer, event, "customer_regions"))

    def take_back(self, at: int, customer: str, topic: str = "customer_votes") -> Changes:
        """Delete a customer's vote or region, and return the counts that this changes."""
        return counts(self.driver.pipe_bytes(customer.encode(), None, START + at, topic))

    def results(self) -> list[Output]:
        """Return all outputs so far in the replay's form."""
        return [(output.topic, plain(output.value), output.timestamp) for output in self.driver.outputs]

    def stores(self, customers: set[str]) -> Stores:
        """Return the stores in the replay's form. Tables have the latest row of each of these customers."""
        latest: dict[str, Any] = {"votes": {}, "regions": {}}
        for processor in self.driver.sub_topologies[0].processors:
            stores: dict[str, Any] = {store.name: store for _, store in declared_stores(processor)}
            for customer in customers:
                if (vote := stores["votes"].get(customer)) is not None:
                    latest["votes"][customer] = (vote.value.dish, vote.timestamp)
                if (region := stores["regions"].get(customer)) is not None:
                    latest["regions"][customer] = (region.value.region, region.timestamp)
        by_dish = {dish: row.value.votes for dish, row in self.driver.store("dish-counts").items()}
        by_region = {split_key(key): row.value.votes for key, row in self.driver.store("region-counts").items()}
        return latest | {"dish-counts": by_dish, "region-counts": by_region}


def counts(outputs: list[Forwarded[Any]]) -> Changes:
    """Return the votes by group. Fail if a group occurs twice."""
    groups = [_group(output) for output in outputs]
    assert len(set(groups)) == len(groups)
    return {group: output.value.votes for group, output in zip(groups, outputs, strict=True)}


def _group(output: Forwarded[Any]) -> str | tuple[str, str]:
    if output.topic == "vote_counts":
        return str(output.value.dish)
    region, dish = split_key(output.key)
    return region, dish
