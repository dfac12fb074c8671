"""Records of the service: contracts in avro/menu-votes, field for field."""

from __future__ import annotations

from typing import NamedTuple

from forebay.records import Record


class CustomerVote(Record):
    """The dish a customer votes for from `timestamp` (ms) on (topic customer_votes, store votes)."""

    event_id: str | None
    customer: str | None
    dish: str
    timestamp: int


class CustomerRegion(Record):
    """Where a customer lives from `timestamp` (ms) on (topic customer_regions, store regions)."""

    event_id: str | None
    customer: str | None
    region: str
    timestamp: int


class RegionalVote(NamedTuple):
    """A row of votes joined with regions."""

    region: str
    dish: str


class CountStep(Record):
    """What a customer's change does to one count (stage counts).

    Args:
        region: the count is that of the dish in this region; None: that of the dish altogether.
        votes: +1 the vote is new there, -1 it left, 0 it stays (the customer voted the same again).
        timestamp: time of the change, in ms.
    """

    region: str | None
    dish: str
    votes: int
    timestamp: int


class VoteCount(Record):
    """How many customers vote for a dish (topic vote_counts, store dish-counts)."""

    dish: str
    votes: int


class RegionVoteCount(Record):
    """How many customers of a region vote for a dish (topic votes_by_region, store region-counts)."""

    region: str
    dish: str
    votes: int
