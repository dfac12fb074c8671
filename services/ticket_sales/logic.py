"""What the service does with a sale. Rules: docs/services/ticket-sales.md."""

from __future__ import annotations

from forebay.processor import Context, Processor, RejectedRecord
from forebay.stores.timestamped import TimestampedKeyValueStore
from ticket_sales.model import MovieTicketSale, Operation, TicketsSold, TicketsSoldChange
from ticket_sales.settings import TicketSalesSettings

TITLES = "titles"


class TicketSales(Processor[MovieTicketSale, MovieTicketSale]):
    """Hands each sale to its title's count, whatever key it came with."""

    def __init__(self, settings: TicketSalesSettings | None = None) -> None:
        pass

    def process(self, event: MovieTicketSale, ctx: Context[MovieTicketSale]) -> None:
        """Repartition by title; a sale without a value counts nowhere."""
        if not event.title:
            raise RejectedRecord("title is empty: the producer must name the movie")
        if event.ticket_total_value is not None:
            ctx.forward(event, event.title)


class TitleCounts(Processor[MovieTicketSale, TicketsSoldChange]):
    """Counts the sales of each title; every change of a row leaves as a change event."""

    sold = TimestampedKeyValueStore("tickets-sold", TicketsSold)

    def __init__(self, settings: TicketSalesSettings | None = None) -> None:
        pass

    def event_id(self, event: MovieTicketSale) -> str | None:
        """Give None: repetitions were recognized before the repartition."""
        return None

    def process(self, event: MovieTicketSale, ctx: Context[TicketsSoldChange]) -> None:
        """Count the sale and send the row before and after."""
        title, ts = ctx.key, event.timestamp
        found = self.sold.get(title)
        if found is None:
            before, after, operation = None, TicketsSold(title, 1), Operation.INSERT
        else:
            before, ts, operation = found.value, max(ts, found.timestamp), Operation.UPDATE
            after = TicketsSold(title, before.tickets_sold + 1)
        self.sold.put(title, after, ts)
        ctx.forward(TicketsSoldChange(operation.value, before, after, ts), title, ts)
