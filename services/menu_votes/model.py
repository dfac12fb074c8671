"""Records of the service: contracts in avro/menu-votes, field for field."""

from __future__ import annotations

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


class RegionalVote(Record):
    """A row of votes joined with regions (repartition region-counts)."""

    region: str
    dish: str


class VoteCount(Record):
    """How many customers vote for a dish (topic vote_counts, store dish-counts)."""

    dish: str
    votes: int


class RegionVoteCount(Record):
    """How many customers of a region vote for a dish (topic votes_by_region, store region-counts)."""

    region: str
    dish: str
    votes: int
