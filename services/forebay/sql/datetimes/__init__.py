"""Parsing and formatting of times by Java's patterns (`DateTimeFormatter`), with names and weeks of the US locale."""
