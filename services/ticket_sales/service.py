"""The entry of ticket-sales in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from ticket_sales.job import JOB

SERVICE = declare(
    JOB,
    name="ticket-sales",
    summary="tickets sold per title, every change as a change event",
    module="ticket_sales.job",
    compacted=("movie_tickets_sold",),
)
