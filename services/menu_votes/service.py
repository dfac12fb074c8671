"""The declaration of the service menu-votes."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="menu-votes",
    summary="votes per dish, and per region and dish, by each customer's latest vote and region",
    job="menu_votes.job",
    compacted=("vote_counts", "votes_by_region"),
)
