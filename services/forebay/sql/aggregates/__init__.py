"""Aggregate functions of SQL, with their states and the changes of a state by a row."""
