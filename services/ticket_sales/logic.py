"""The logic of ticket-sales. Rules: docs/services/ticket-sales.md."""

from __future__ import annotations

from forebay.builder import Topology
from forebay.operators import Fold
from forebay.processor import Context, Processor, RejectedRecord
from ticket_sales.model import MovieTicketSale, Operation, TicketsSold, TicketsSoldChange
from ticket_sales.settings import TicketSalesSettings

SOLD: Fold[MovieTicketSale, TicketsSold] = Fold(
    lambda: TicketsSold("", 0), lambda title, _, sold: TicketsSold(title, sold.tickets_sold + 1)
)


def ticket_sales(_: TicketSalesSettings) -> Topology:
    """Return the topology that counts the sales of each title, and sends every change of a row as a change event."""
    topology = Topology()
    sales = topology.stream(
        "movie_ticket_sales", MovieTicketSale, timestamp="timestamp", event_id="event_id", nulls=False
    )
    by_title = sales.filter(_counts).select_key(lambda _, sale: sale.title, str).repartition("titles")
    sold = by_title.group_by_key().aggregate(SOLD, TicketsSold, store="tickets-sold")
    sold.to_stream().process_values(Changes, TicketsSoldChange, name="changes").to("movie_tickets_sold")
    return topology


class Changes(Processor[TicketsSold, TicketsSoldChange]):
    """Sends a title's row before and after a sale."""

    def process(self, event: TicketsSold, ctx: Context[TicketsSoldChange]) -> None:
        """Send the change. The row before had one ticket less."""
        is_first = event.tickets_sold == 1
        before = None if is_first else TicketsSold(event.title, event.tickets_sold - 1)
        operation = Operation.INSERT if is_first else Operation.UPDATE
        ctx.forward(TicketsSoldChange(operation.value, before, event, ctx.timestamp))


def _counts(_: str, sale: MovieTicketSale) -> bool:
    """Return whether to count a sale. A sale without a value is not counted."""
    if not sale.title:
        raise RejectedRecord("title is empty: the producer must name the movie")
    return sale.ticket_total_value is not None
