"""Regions of a restaurant's guests, and their moves (topic customer_regions)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from menu_votes.model import CustomerRegion
from producers.draws import weighted_table
from producers.restaurant import guests, run_id

_REGIONS = weighted_table([("north", 20.0), ("east", 15.0), ("south", 25.0), ("west", 30.0), ("islands", 2.0)])


class CustomerRegionsGenerator:
    """Each of `options.keys` customers registers in turn. Then they move one by one, some within their region."""

    def __init__(self, options: Options) -> None:
        self._random = Random(f"customer_regions {options.seed}")
        self._guests = guests(options.keys)
        self._run = run_id(options)
        self._number = 0

    def next_event(self, timestamp: int) -> Event[CustomerRegion]:
        """Return the next registration or move."""
        random = self._random
        number = self._number
        self._number = number + 1
        customer = self._guests[number if number < len(self._guests) else int(random.random() * len(self._guests))]
        region = _REGIONS[random.getrandbits(12)]
        return Event(customer, CustomerRegion(f"{self._run}-{number:08x}", customer, region, timestamp), timestamp)


SOURCE = Source("customer_regions", "menu-votes", "CustomerRegion", CustomerRegion, CustomerRegionsGenerator, "region")
