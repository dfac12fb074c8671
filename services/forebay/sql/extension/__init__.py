"""User-defined scalar, table and aggregate functions for SQL, written in Python and typed by their annotations."""

from __future__ import annotations

from forebay.sql.extension.declaring import aggregate_function, scalar_function, table_function

__all__ = ["aggregate_function", "scalar_function", "table_function"]
