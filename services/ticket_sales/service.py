"""The entry of ticket-sales in the table of services."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="ticket-sales",
    summary="tickets sold per title, every change as a change event",
    job="ticket_sales.job",
    compacted=("movie_tickets_sold",),
)
