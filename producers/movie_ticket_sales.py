"""Sales of movie tickets at cinemas (topic movie_ticket_sales)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from producers.draws import MASK, weighted_table
from producers.restaurant import Turns, run_id
from ticket_sales.model import MovieTicketSale

_TITLES = (
    "Aliens",
    "Die Hard",
    "The Godfather",
    "The Big Lebowski",
    "Metropolis",
    "Spirited Away",
    "Amélie",
    "Seven Samurai",
    "Casablanca",
    "Parasite",
    "Good Bye, Lenin!",
    "Alien: Resurrection",
    "2001: A Space Odyssey",
    "City of God",
    "The Lives of Others",
    "Run Lola Run",
)
_SHOWN = weighted_table([(title, 1 / (rank + 1)) for rank, title in enumerate(_TITLES)])
_TICKETS = weighted_table([(1, 40.0), (2, 38.0), (3, 10.0), (4, 8.0), (5, 3.0), (8, 1.0)])
_UNKNOWN = 0.02


class MovieTicketSalesGenerator:
    """Sales at `options.keys` cinemas, mostly of a few titles. Records are keyed by cinema.

    A ticket has one price per cinema, in steps of a quarter. The value of some sales is unknown.
    """

    def __init__(self, options: Options) -> None:
        self._random = random = Random(f"movie_ticket_sales {options.seed}")
        self._cinemas = [f"cinema_{number:04d}" for number in range(1, options.keys + 1)]
        self._prices = [random.randint(24, 68) / 4 for _ in self._cinemas]
        self._turns = Turns(options.keys, random)
        self._run = run_id(options)
        self._number = 0

    def next_event(self, timestamp: int) -> Event[MovieTicketSale]:
        """Return the next sale."""
        random = self._random
        self._number = number = self._number + 1
        index = self._turns.next()
        bits = random.getrandbits(24)
        value = None if random.random() < _UNKNOWN else self._prices[index] * _TICKETS[bits >> 12]
        cinema = self._cinemas[index]
        sale = MovieTicketSale(
            event_id=f"{self._run}-{number:08x}",
            title=_SHOWN[bits & MASK],
            ticket_total_value=value,
            cinema=cinema,
            timestamp=timestamp,
        )
        return Event(cinema, sale, timestamp)


SOURCE = Source(
    "movie_ticket_sales", "ticket-sales", "MovieTicketSale", MovieTicketSale, MovieTicketSalesGenerator, "title"
)
