"""Ticket sales: movie_ticket_sales -> movie_tickets_sold."""
