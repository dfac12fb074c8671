"""The service under test, as a box office that sells tickets."""

from __future__ import annotations

from typing import Any

from forebay.testing import Forwarded, TestDriver
from tests.plain import plain
from tests.ticket_sales.replay import Output, Value
from ticket_sales.model import MovieTicketSale, TicketsSoldChange

START = 1_735_689_600_000


class BoxOffice:
    """A test driver for the service with both sub-topologies. Times are ms after START."""

    def __init__(self, tasks: int = 1, **engine: Any) -> None:
        self.driver = TestDriver("ticket-sales", tasks=tasks, **engine)

    def sell(
        self,
        title: str,
        at: int = 0,
        value: float | None = 10.0,
        cinema: str = "odeon",
        event_id: str | None = None,
    ) -> list[Forwarded[TicketsSoldChange]]:
        """Sell a ticket, and return the resulting changes."""
        return self.driver.pipe(cinema, MovieTicketSale(event_id, title, value, cinema, START + at))

    def sold(self) -> dict[str, int]:
        """Return the count of each title."""
        return {title: row.value.tickets_sold for title, row in self.driver.store("tickets-sold").items()}

    def results(self) -> list[Output]:
        """Return all changes so far in the replay's form."""
        return [(output.key, plain(output.value), output.timestamp) for output in self.driver.outputs]

    def table(self) -> dict[str, dict[str, Value]]:
        """Return the store in the replay's form."""
        return {"tickets-sold": {key: plain(row.value) for key, row in self.driver.store("tickets-sold").items()}}
