"""Functions of dates, times and timestamps."""

from __future__ import annotations

import time

from forebay.sql import patterns
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import function, special
from forebay.sql.generate import Generator, Typed
from forebay.sql.instants import DAY_MS
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
def _moved(make: Generator, call: Call) -> Typed:
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
    if kind == DATE:
        return make.applied(f"{{1}} + {{0}} * {step} // {DAY_MS}", [number, value], DATE)
    if kind == TIME:
        return make.applied(f"({{1}} + {{0}} * {step}) % {DAY_MS}", [number, value], TIME)
    return make.applied(f"({{1}} + {{0}} * {step})", [number, value], TIMESTAMP)


def converted(value: int, source: str, target: str) -> int:
    """Return the timestamp that shows the same clock in another time zone."""
    moment = patterns.formatted(value, "yyyy-MM-dd HH:mm:ss.SSS", target)
    del source
    return patterns.parsed(moment, "yyyy-MM-dd HH:mm:ss.SSS")


function("TIMESTAMPTOSTRING", "l s s?", STRING, patterns.formatted)
function("FORMAT_TIMESTAMP", "S s s?", STRING, patterns.formatted)
function("STRINGTOTIMESTAMP", "s s s?", BIGINT, patterns.parsed)
function("PARSE_TIMESTAMP", "s s s?", TIMESTAMP, patterns.parsed)
function("FORMAT_DATE", "D s", STRING, lambda value, pattern: patterns.formatted(value * DAY_MS, pattern))
function("DATETOSTRING", "i s", STRING, lambda value, pattern: patterns.formatted(value * DAY_MS, pattern))
function("PARSE_DATE", "s s", DATE, lambda text, pattern: patterns.parsed(text, pattern) // DAY_MS)
function("STRINGTODATE", "s s", INT, lambda text, pattern: patterns.parsed(text, pattern) // DAY_MS)
function("FORMAT_TIME", "T s", STRING, patterns.formatted)
function("PARSE_TIME", "s s", TIME, lambda text, pattern: patterns.parsed(text, pattern) % DAY_MS)
function("FROM_UNIXTIME", "l", TIMESTAMP, lambda value: value)
function("FROM_DAYS", "i", DATE, lambda value: value)
function("UNIX_TIMESTAMP", "", BIGINT, lambda: time.time_ns() // 1_000_000)
function("UNIX_TIMESTAMP", "S", BIGINT, lambda value: value)
function("UNIX_DATE", "", INT, lambda: time.time_ns() // (DAY_MS * 1_000_000))
function("UNIX_DATE", "D", INT, lambda value: value)
function("CONVERT_TZ", "S s s", TIMESTAMP, converted)
