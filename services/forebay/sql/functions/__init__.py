"""Functions of SQL: each with its signatures, as ksqlDB documents it."""
