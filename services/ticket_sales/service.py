"""The declaration of the service ticket-sales."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="ticket-sales",
    summary="tickets sold per title, every change as a change event",
    job="ticket_sales.job",
    compacted=("movie_tickets_sold",),
)
