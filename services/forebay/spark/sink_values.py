"""Lossless conversions of a DataFrame's values to the base types of schemas, and errors for values that don't fit."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructField, StructType

if TYPE_CHECKING:
    from pyarrow import RecordBatch

Convert = Callable[[Any], Any]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()


class ColumnMismatch(Exception):
    """A column of the DataFrame does not fit the schema. The message says what to change. Nothing was written."""


class ValueMismatch(Exception):
    """A value does not fit its field. The message names the column. The transaction is aborted."""


def python_rows(batch: RecordBatch, where: str) -> list[dict[str, Any]]:
    """Return the rows of a batch.

    Args:
        batch: The batch.
        where: Description of the batch in error messages.

    Raises:
        ValueMismatch: A date or a timestamp is outside of the years 1 to 9999, which Python supports.
    """
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (OverflowError, ValueError) as error:
        raise ValueMismatch(
            f"{where}: a DATE or TIMESTAMP is outside of the years 1 to 9999 in the session's time zone ({error}): "
            "filter such rows, or CAST the column to BIGINT or STRING"
        ) from error
    return rows


def same(value: Any) -> Any:
    """Return the value unchanged."""
    return value


def refuse_null(convert: Convert, path: str) -> Convert:
    """Return a conversion that refuses null."""

    def check_not_null(value: Any) -> Any:
        if value is None:
            raise ValueMismatch(
                f"{path} is null, but its field takes no null: filter such rows, or replace the null with `coalesce`"
            )
        return convert(value)

    return check_not_null


def keep_null(convert: Convert) -> Convert:
    """Return a conversion that returns None for None."""
    return lambda value: None if value is None else convert(value)


def days(value: datetime.date) -> int:
    """Return the days since 1970-01-01."""
    return value.toordinal() - _FIRST_DAY


def microseconds(value: datetime.datetime) -> int:
    """Return the microseconds since 1970-01-01 00:00. A value without a time zone is taken as UTC."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    since = aware - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def microseconds_of_day(value: datetime.time) -> int:
    """Return the microseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def in_milliseconds(convert: Convert, path: str) -> Convert:
    """Return a conversion to milliseconds from a conversion to microseconds. It refuses a remainder."""

    def divide(value: Any) -> int:
        whole, rest = divmod(convert(value), 1_000)
        if rest:
            raise ValueMismatch(
                f"{path} is {value}, but its field has milliseconds: write date_trunc('MILLISECOND', {path}) to drop "
                "the microseconds"
            )
        return int(whole)

    return divide


def field_names(row: StructType, names: Mapping[str, Any], what: str, path: str) -> dict[str, StructField]:
    """Return the columns by the name of their field. The names of a column and its field may differ in case.

    Args:
        row: The columns.
        names: Fields of the schema, by name.
        what: Description of the schema in error messages.
        path: Path of the struct that contains the columns, or "".

    Raises:
        ColumnMismatch: A column has no field.
    """
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    columns: dict[str, StructField] = {}
    for column in row.fields:
        near = folded.get(column.name.casefold(), [])
        name = column.name if column.name in names else near[0] if len(near) == 1 else ""
        if not name or name in columns:
            where = join(path, column.name)
            raise ColumnMismatch(
                f"{what} has no field for the column {where}: leave the column out of the DataFrame, rename it (the "
                f"fields are {', '.join(names)}), or register a schema that has it"
            )
        columns[name] = column
    return columns


def join(path: str, name: str) -> str:
    """Return the path of a field within a column."""
    return f"{path}.{name}" if path else name


def misfit(path: str, kind: DataType, target: str, ddl: str) -> ColumnMismatch:
    """Return the error for a column whose type does not fit.

    Args:
        path: Path of the column.
        kind: Spark type of the column.
        target: Type of the field, as the schema declares it.
        ddl: The Spark type that fits, or "" if no type does.
    """
    remedy = f"select CAST({path} AS {ddl}) AS {path.rpartition('.')[2]}" if ddl else "leave it out, or use its parts"
    return ColumnMismatch(
        f"the column {path} is {kind.simpleString().upper()}, which does not fit its field of type {target} without "
        f"loss: {remedy}"
    )


def missing_field(path: str, target: str, ddl: str) -> ColumnMismatch:
    """Return the error for a field without a default for which the DataFrame has no column."""
    typed = f" of type {ddl}" if ddl else ""
    return ColumnMismatch(
        f"the field {path} ({target}) has no default, and the DataFrame has no such column: add the column "
        f"{path}{typed}"
    )
