"""The stage behind the repartition: counts of votes, one step at a time."""

from __future__ import annotations

from forebay.operators import Change, TableAggregate
from forebay.processor import Context, Processor
from forebay.stores.timestamped import TimestampedKeyValueStore
from menu_votes.model import CountStep, RegionVoteCount, VoteCount
from menu_votes.settings import MenuVotesSettings

COUNTS = "counts"

Count = VoteCount | RegionVoteCount


class MenuCounts(Processor[CountStep, Count]):
    """Keeps the votes per dish and per (region, dish); each step arrives keyed by the count it is for."""

    dish_counts = TimestampedKeyValueStore("dish-counts", VoteCount)
    region_counts = TimestampedKeyValueStore("region-counts", RegionVoteCount)

    def __init__(self, settings: MenuVotesSettings | None = None) -> None:
        pass

    def opened(self) -> None:
        self._by_dish: TableAggregate[CountStep, CountStep, VoteCount] = TableAggregate(
            self.dish_counts,
            _whole,
            lambda: VoteCount("", 0),
            lambda _, step, count: VoteCount(step.dish, count.votes + 1),
            lambda _, step, count: VoteCount(step.dish, count.votes - 1),
        )
        self._by_region: TableAggregate[CountStep, CountStep, RegionVoteCount] = TableAggregate(
            self.region_counts,
            _whole,
            lambda: RegionVoteCount("", "", 0),
            lambda _, step, count: RegionVoteCount(step.region or "", step.dish, count.votes + 1),
            lambda _, step, count: RegionVoteCount(step.region or "", step.dish, count.votes - 1),
        )

    def event_id(self, event: CountStep) -> str | None:
        """Give None: repetitions were recognized before the repartition."""
        return None

    def process(self, event: CountStep, ctx: Context[Count]) -> None:
        """Add the vote that came, subtract the one that left, send the count."""
        came = event if event.votes >= 0 else None
        left = event if event.votes <= 0 else None
        change = Change(ctx.key, came, left, event.timestamp)
        if event.region is None:
            for dish, count, ts in self._by_dish.process(change):
                ctx.forward(count, dish, ts, "vote_counts")
        else:
            for group, regional, ts in self._by_region.process(change):
                ctx.forward(regional, group, ts, "votes_by_region")


def _whole(key: str, step: CountStep) -> tuple[str, CountStep]:
    return key, step
