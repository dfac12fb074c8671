"""What the service does with a vote and with a region. Rules: docs/services/menu-votes.md."""

from __future__ import annotations

from typing import Any

from forebay.operators import Change, Join, LatestByTimestamp, TableTableJoin
from forebay.processor import Context, LateRecord, Processor, RejectedRecord
from forebay.stores.keys import join_key
from forebay.stores.versioned import VersionedKeyValueStore
from menu_votes.model import CountStep, CustomerRegion, CustomerVote, RegionalVote
from menu_votes.settings import MenuVotesSettings

VOTES, REGIONS = "customer_votes", "customer_regions"

Row = tuple[str | None, str]
"""Region (None: all regions) and dish: the group that a customer's row counts in."""


class MenuVotes(Processor[CustomerVote | CustomerRegion, CountStep]):
    """Keeps each customer's vote and region, latest by timestamp, and hands on what a change does to the counts."""

    def __init__(self, settings: MenuVotesSettings | None = None) -> None:
        retention_ms = (settings or MenuVotesSettings()).history_retention_ms
        self.votes = VersionedKeyValueStore("votes", CustomerVote, history_retention_ms=retention_ms)
        self.regions = VersionedKeyValueStore("regions", CustomerRegion, history_retention_ms=retention_ms)

    def opened(self) -> None:
        self._votes = LatestByTimestamp(self.votes)
        self._regions = LatestByTimestamp(self.regions)
        self._regional: TableTableJoin[CustomerVote, CustomerRegion, RegionalVote] = TableTableJoin(
            self._votes, self._regions, Join.INNER, _regional_vote
        )

    def event_id(self, event: CustomerVote | CustomerRegion) -> str | None:
        """Give the event's id, marked with its topic: a vote is no repetition of a region with the same id."""
        if event.event_id is None:
            return None
        return f"vote\0{event.event_id}" if isinstance(event, CustomerVote) else f"region\0{event.event_id}"

    def process(self, event: CustomerVote | CustomerRegion, ctx: Context[CountStep]) -> None:
        """Update the event's table; if it is the customer's latest, hand on the counts' steps."""
        if isinstance(event, CustomerVote):
            self._vote(event, ctx)
        else:
            self._move(event, ctx)

    def removed(self, topic: str, ctx: Context[CountStep]) -> None:
        """Withdraw the customer's vote, or leave the region: the counts lose it."""
        if topic == VOTES:
            self._update_vote(None, ctx)
        else:
            self._update_region(None, ctx)

    def _vote(self, vote: CustomerVote, ctx: Context[CountStep]) -> None:
        if not vote.dish:
            raise RejectedRecord("dish is empty: the producer must name the dish")
        self._update_vote(vote, ctx)

    def _move(self, region: CustomerRegion, ctx: Context[CountStep]) -> None:
        if not region.region:
            raise RejectedRecord("region is empty: the producer must name the region")
        self._update_region(region, ctx)

    def _update_vote(self, vote: CustomerVote | None, ctx: Context[CountStep]) -> None:
        _refuse_late(self.votes, ctx.timestamp)
        change = self._votes.update(ctx.key, vote, ctx.timestamp)
        if change is not None:
            _hand_on(ctx, change.timestamp, _of_dish(change.old), _of_dish(change.new))
            _hand_on_regional(ctx, self._regional.on_left(change))

    def _update_region(self, region: CustomerRegion | None, ctx: Context[CountStep]) -> None:
        _refuse_late(self.regions, ctx.timestamp)
        _hand_on_regional(ctx, self._regional.on_right(self._regions.update(ctx.key, region, ctx.timestamp)))


def _of_dish(vote: CustomerVote | None) -> Row | None:
    return None if vote is None else (None, vote.dish)


def _regional_vote(vote: CustomerVote | None, region: CustomerRegion | None) -> RegionalVote:
    assert vote is not None
    assert region is not None
    return RegionalVote(region.region, vote.dish)


def _hand_on_regional(ctx: Context[CountStep], change: Change[RegionalVote] | None) -> None:
    if change is not None:
        _hand_on(ctx, change.timestamp, change.old, change.new)


def _hand_on(ctx: Context[CountStep], ts: int, old: Row | None, new: Row | None) -> None:
    """Hand a row's change to the counts of its groups, the one that loses it first."""
    if old == new and new is not None:
        _step(ctx, new, 0, ts)
        return
    if old is not None:
        _step(ctx, old, -1, ts)
    if new is not None:
        _step(ctx, new, 1, ts)


def _step(ctx: Context[CountStep], row: Row, votes: int, ts: int) -> None:
    region, dish = row
    key = dish if region is None else join_key(region, dish)
    ctx.forward(CountStep(region, dish, votes, ts), key, ts)


def _refuse_late(store: VersionedKeyValueStore[Any], ts: int) -> None:
    by_ms = store.stream_time - store.history_retention_ms - ts
    if by_ms > 0:
        raise LateRecord(by_ms)
