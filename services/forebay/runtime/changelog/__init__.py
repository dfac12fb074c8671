"""Changelog topics: their names, rows and formats."""
