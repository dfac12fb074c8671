"""Records of the service, which match the contracts in avro/menu-votes field by field."""

from __future__ import annotations

from forebay.records import Record


class CustomerVote(Record):
    """The dish that a customer votes for from `timestamp` (ms) on (topic customer_votes, store votes)."""

    event_id: str | None
    customer: str | None
    dish: str
    timestamp: int


class CustomerRegion(Record):
    """The region of a customer from `timestamp` (ms) on (topic customer_regions, store regions)."""

    event_id: str | None
    customer: str | None
    region: str
    timestamp: int


class RegionalVote(Record):
    """A row of the join of votes and regions (repartition topic region-counts)."""

    region: str
    dish: str


class VoteCount(Record):
    """The number of customers who vote for a dish (topic vote_counts, store dish-counts)."""

    dish: str
    votes: int


class RegionVoteCount(Record):
    """The number of customers of a region who vote for a dish (topic votes_by_region, store region-counts)."""

    region: str
    dish: str
    votes: int
