"""Functions of your own for SQL: scalar, table and aggregate functions in Python, typed by their annotations."""

from __future__ import annotations

from forebay.sql.extension.declaring import aggregate_function, scalar_function, table_function

__all__ = ["aggregate_function", "scalar_function", "table_function"]
