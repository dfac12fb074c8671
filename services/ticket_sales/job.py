"""The wiring of ticket-sales."""

from __future__ import annotations

from forebay.job import Job, Stage
from ticket_sales.logic import TITLES, TicketSales, TitleCounts
from ticket_sales.model import MovieTicketSale, TicketsSoldChange
from ticket_sales.settings import TicketSalesSettings

JOB = Job(
    inputs={"movie_ticket_sales": MovieTicketSale},
    outputs={"movie_tickets_sold": TicketsSoldChange},
    settings=TicketSalesSettings,
    processor=TicketSales,
    then=(Stage(TITLES, MovieTicketSale, TitleCounts),),
)
