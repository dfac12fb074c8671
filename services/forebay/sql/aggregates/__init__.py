"""Aggregates of SQL: what each keeps, and how it changes with a row more or less."""
