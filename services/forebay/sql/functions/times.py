"""Functions for dates, times and timestamps."""

from __future__ import annotations

import time

from forebay.sql.arithmetic import within_bits
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.datetimes import lenient, read, write
from forebay.sql.datetimes.days import DAY_MS
from forebay.sql.datetimes.patterns import parts_of
from forebay.sql.datetimes.zones import zone_of
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import function, special
from forebay.sql.syntax import Call, Literal
from forebay.sql.types import BIGINT, DATE, INT, STRING, TIME, TIMESTAMP, SqlType

_UNITS = {
    "MILLISECONDS": 1,
    "SECONDS": 1_000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": DAY_MS,
    "WEEKS": 7 * DAY_MS,
}


@special("TIMESTAMPADD TIMESTAMPSUB DATEADD DATESUB TIMEADD TIMESUB")
def _move(make: Binder, call: Call) -> Bound:
    kind: SqlType = {"DA": DATE, "TS": TIMESTAMP}.get(call.name[:2], TIME)
    if call.name.startswith("TIMESTAMP"):
        kind = TIMESTAMP
    usage = f"write {call.name}(DAYS, 1, value) with one of {', '.join(_UNITS)}"
    if len(call.arguments) != 3 or not isinstance(call.arguments[0], Literal):
        raise SqlError(call.place, usage)
    unit = _UNITS.get(str(call.arguments[0].value))
    if unit is None:
        raise SqlError(call.place, usage)
    step = -unit if call.name.endswith("SUB") else unit
    number, value = make.of(call.arguments[1]), make.cast(make.of(call.arguments[2]), kind, call)
    if kind == TIME:
        return make.apply(call.name, f"({{1}} + {{0}} * {step}) % {DAY_MS}", [number, value], TIME)
    move = _moved_date if kind == DATE else _moved_timestamp
    return make.apply(call.name, f"{{move}}({{1}}, {{0}} * {step})", [number, value], kind, functions={"move": move})


def _moved_date(days: int, ms: int) -> int:
    """Return a date that is `ms` later. Raises ValueError if it is out of the range of DATE."""
    return within_bits(days + ms // DAY_MS, 32)


def _moved_timestamp(at: int, ms: int) -> int:
    """Return a timestamp that is `ms` later. Raises ValueError if it is out of the range of TIMESTAMP."""
    return within_bits(at + ms, 64)


def convert(value: int, source: str, target: str) -> int:
    """Return a timestamp shifted by the difference between two time zones at this time. Raises ValueError."""
    seconds = zone_of(target).offset_at(value) - zone_of(source).offset_at(value)
    return within_bits(value + seconds * 1000, 64)


def _check(_value: object, pattern: object, *_zone: object) -> None:
    """Raise ValueError for an invalid pattern."""
    if isinstance(pattern, str):
        parts_of(pattern)


def _check_date(_value: object, pattern: object) -> None:
    if isinstance(pattern, str):
        lenient.reader_of(pattern)


def format_timestamp(value: int, pattern: str, zone: str = "GMT") -> str:
    """Return a timestamp (ms) as text. The name of the default zone is GMT, as in ksqlDB. Raises ValueError."""
    return write.format_time(value, pattern, zone)


def _now() -> int:
    return time.time_ns() // 1_000_000


function("TIMESTAMPTOSTRING", "l s s?", STRING, write.format_time, check=_check)
function("FORMAT_TIMESTAMP", "S s s?", STRING, format_timestamp, check=_check)
function("FORMAT_DATE", "D s", STRING, write.formatted_date, check=_check)
function("DATETOSTRING", "i s", STRING, write.formatted_date, check=_check)
function("FORMAT_TIME", "T s", STRING, write.formatted_time, check=_check)
function("STRINGTOTIMESTAMP", "s s s?", BIGINT, read.parse_time, check=_check)
function("PARSE_TIMESTAMP", "s s s?", TIMESTAMP, read.parse_time, check=_check)
function("PARSE_DATE", "s s", DATE, lenient.parsed_date, check=_check_date)
function("STRINGTODATE", "s s", INT, read.parsed_day, check=_check)
function("PARSE_TIME", "s s", TIME, read.parsed_time, check=_check)
function("FROM_UNIXTIME", "l", TIMESTAMP, lambda value: value)
function("FROM_DAYS", "i", DATE, lambda value: value)
function("UNIX_TIMESTAMP", "", BIGINT, _now)
function("UNIX_TIMESTAMP", "S", BIGINT, lambda value: value)
function("UNIX_DATE", "", INT, lambda: _now() // DAY_MS)
function("UNIX_DATE", "D", INT, lambda value: value)
function("CONVERT_TZ", "S s s", TIMESTAMP, convert)
