"""The job of menu-votes."""

from __future__ import annotations

from forebay.builder import job
from menu_votes.logic import menu_votes
from menu_votes.settings import MenuVotesSettings

JOB = job(MenuVotesSettings, menu_votes)
