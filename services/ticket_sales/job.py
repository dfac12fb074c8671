"""The job of ticket-sales."""

from __future__ import annotations

from forebay.builder import job
from ticket_sales.logic import ticket_sales
from ticket_sales.settings import TicketSalesSettings

JOB = job(TicketSalesSettings, ticket_sales)
