"""The logic of menu-votes. Rules: docs/services/menu-votes.md."""

from __future__ import annotations

from forebay.builder import Topology
from forebay.operators import Fold
from forebay.processor import RejectedRecord
from forebay.stores.keys import join_key
from menu_votes.model import CustomerRegion, CustomerVote, RegionalVote, RegionVoteCount, VoteCount
from menu_votes.settings import MenuVotesSettings

VOTES, REGIONS = "customer_votes", "customer_regions"

BY_DISH: Fold[CustomerVote, VoteCount] = Fold(
    lambda: VoteCount("", 0),
    lambda _, vote, count: VoteCount(vote.dish, count.votes + 1),
    lambda _, vote, count: VoteCount(vote.dish, count.votes - 1),
)
BY_REGION: Fold[RegionalVote, RegionVoteCount] = Fold(
    lambda: RegionVoteCount("", "", 0),
    lambda _, vote, count: RegionVoteCount(vote.region, vote.dish, count.votes + 1),
    lambda _, vote, count: RegionVoteCount(vote.region, vote.dish, count.votes - 1),
)


def menu_votes(settings: MenuVotesSettings) -> Topology:
    """Return the topology that counts customers' latest votes per dish, and per latest region and dish."""
    topology, history = Topology(), settings.history_retention_ms
    votes = topology.table(
        VOTES,
        CustomerVote,
        store="votes",
        history_retention_ms=history,
        timestamp="timestamp",
        event_id=lambda vote: None if vote.event_id is None else f"vote\0{vote.event_id}",
        check=_check_vote,
    )
    regions = topology.table(
        REGIONS,
        CustomerRegion,
        store="regions",
        history_retention_ms=history,
        timestamp="timestamp",
        event_id=lambda region: None if region.event_id is None else f"region\0{region.event_id}",
        check=_check_region,
    )
    by_dish = votes.group_by(lambda _, vote: vote.dish, str)
    by_dish.aggregate(BY_DISH, VoteCount, store="dish-counts").to_stream().to("vote_counts")
    regional = votes.join(regions, lambda vote, region: RegionalVote(region.region, vote.dish), RegionalVote)
    by_region = regional.group_by(lambda _, vote: join_key(vote.region, vote.dish), str)
    by_region.aggregate(BY_REGION, RegionVoteCount, store="region-counts").to_stream().to("votes_by_region")
    return topology


def _check_vote(_: str, vote: CustomerVote) -> None:
    if not vote.dish:
        raise RejectedRecord("dish is empty: the producer must name the dish")


def _check_region(_: str, region: CustomerRegion) -> None:
    if not region.region:
        raise RejectedRecord("region is empty: the producer must name the region")
