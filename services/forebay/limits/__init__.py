"""Limits of topics for the size and timestamp of records, and checks of a task's records."""
