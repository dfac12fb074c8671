"""The wiring of menu-votes."""

from __future__ import annotations

from forebay.job import Job, Stage
from menu_votes.counts import COUNTS, MenuCounts
from menu_votes.logic import REGIONS, VOTES, MenuVotes
from menu_votes.model import CountStep, CustomerRegion, CustomerVote, RegionVoteCount, VoteCount
from menu_votes.settings import MenuVotesSettings

JOB = Job(
    inputs={VOTES: CustomerVote, REGIONS: CustomerRegion},
    outputs={"vote_counts": VoteCount, "votes_by_region": RegionVoteCount},
    settings=MenuVotesSettings,
    processor=MenuVotes,
    tables=frozenset({VOTES, REGIONS}),
    then=(Stage(COUNTS, CountStep, MenuCounts),),
)
