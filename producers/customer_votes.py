"""Votes of a restaurant's guests for the next menu, often changed (topic customer_votes)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from menu_votes.model import CustomerVote
from producers.draws import weighted_table
from producers.restaurant import Turns, dishes, guests, run_id

_DISHES = 12
_FAVOURITES = weighted_table([(dish, 1 / (rank + 2)) for rank, dish in enumerate(dishes(_DISHES))])
_STAYS = 0.3


class CustomerVotesGenerator:
    """Votes of `options.keys` customers. A customer who votes again changes the vote in two of three cases."""

    def __init__(self, options: Options) -> None:
        self._random = random = Random(f"customer_votes {options.seed}")
        self._guests = guests(options.keys)
        self._turns = Turns(options.keys, random)
        self._votes: list[str | None] = [None] * options.keys
        self._run = run_id(options)
        self._number = 0

    def next_event(self, timestamp: int) -> Event[CustomerVote]:
        """Return the next vote."""
        random = self._random
        self._number = number = self._number + 1
        index = self._turns.next()
        dish = self._votes[index]
        if dish is None or random.random() >= _STAYS:
            dish = self._votes[index] = _FAVOURITES[random.getrandbits(12)]
        customer = self._guests[index]
        return Event(customer, CustomerVote(f"{self._run}-{number:08x}", customer, dish, timestamp), timestamp)


SOURCE = Source("customer_votes", "menu-votes", "CustomerVote", CustomerVote, CustomerVotesGenerator, "dish")
