"""Options of a WITH clause for windows, history and the timestamp column."""

from __future__ import annotations

from forebay.sql.catalog import Named, Windowing
from forebay.sql.datetimes.read import reader_of
from forebay.sql.errors import Place, SqlError
from forebay.sql.option_values import duration
from forebay.sql.syntax import CreateAs
from forebay.sql.types import BIGINT, STRING, TIMESTAMP
from forebay.sql.written_options import Options


def windowing_of(given: Options, place: Place) -> Windowing | None:
    """Return the windows that WINDOW_TYPE and WINDOW_SIZE declare. Raises SqlError."""
    kind = given.get("WINDOW_TYPE")
    if kind is None:
        return None
    named, written = str(kind).upper(), given.place_of("WINDOW_TYPE", place)
    if named not in ("TUMBLING", "HOPPING", "SESSION"):
        raise SqlError(written, f"WINDOW_TYPE is {kind}: write TUMBLING, HOPPING or SESSION")
    size = given.get("WINDOW_SIZE", 0)
    if named == "SESSION" and size:
        raise SqlError(given.place_of("WINDOW_SIZE", place), "SESSION windows have no size: leave WINDOW_SIZE out")
    if isinstance(size, str):
        size = duration("WINDOW_SIZE", size, given.place_of("WINDOW_SIZE", place))
    if named != "SESSION" and not size:
        raise SqlError(written, f"{named} windows have a size: write WINDOW_SIZE = '30 SECONDS'")
    return Windowing(named, int(size))


def history_of(given: Options, statement: CreateAs, windowing: Windowing | None) -> int:
    """Return the time (ms) for which a table stores former rows, or 0 if it does not store them. Raises SqlError."""
    wanted = given.get("HISTORY_RETENTION")
    if wanted is None:
        return 0
    place = given.place_of("HISTORY_RETENTION", statement.place)
    if not statement.is_table or windowing is not None:
        raise SqlError(place, "HISTORY_RETENTION is for a TABLE without windows: leave it out")
    return duration("HISTORY_RETENTION", str(wanted), place)


def timestamp_of(given: Options, columns: tuple[Named, ...], place: Place) -> tuple[str, str] | None:
    """Return the column of TIMESTAMP and the pattern of TIMESTAMP_FORMAT. Raises SqlError."""
    name = given.get("TIMESTAMP")
    if name is None:
        return None
    place = given.place_of("TIMESTAMP", place)
    wanted = str(name).strip('`"')
    result = next((column for column in columns if column.name in (wanted, wanted.upper())), None)
    if result is None:
        names = ", ".join(column.name for column in columns)
        raise SqlError(place, f"TIMESTAMP names {name}, which is not a column: write one of {names}")
    pattern = str(given.get("TIMESTAMP_FORMAT", ""))
    if result.type not in (BIGINT, TIMESTAMP) and not (result.type == STRING and pattern):
        raise SqlError(place, f"TIMESTAMP {result}: give a BIGINT (ms), a TIMESTAMP, or a STRING with TIMESTAMP_FORMAT")
    if pattern and result.type != STRING:
        raise SqlError(
            given.place_of("TIMESTAMP_FORMAT", place),
            f"TIMESTAMP_FORMAT is for a STRING, TIMESTAMP names {result}: leave the format out",
        )
    try:
        reader_of(pattern)
    except ValueError as error:
        raise SqlError(
            given.place_of("TIMESTAMP_FORMAT", place),
            f"TIMESTAMP_FORMAT: {error}: write one such as yyyy-MM-dd HH:mm:ss",
        ) from error
    return result.name, pattern
