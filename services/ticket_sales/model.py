"""Records of the service, which match the contracts in avro/ticket-sales field by field."""

from __future__ import annotations

from enum import StrEnum

from forebay.records import Record


class Operation(StrEnum):
    """The kind of a change of a title's row."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"


class MovieTicketSale(Record):
    """A sale (topic movie_ticket_sales, repartition topic titles). Time in ms."""

    event_id: str | None
    title: str
    ticket_total_value: float | None
    cinema: str | None
    timestamp: int


class TicketsSold(Record):
    """The count of a title (store tickets-sold)."""

    title: str
    tickets_sold: int


class TicketsSoldChange(Record):
    """A change of the table of counts (topic movie_tickets_sold).

    Args:
        operation: one of Operation.
        timestamp: largest event time counted so far, in ms.
    """

    operation: str
    before: TicketsSold | None
    after: TicketsSold
    timestamp: int
