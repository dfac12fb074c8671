"""Execution of a case on the test driver."""

from __future__ import annotations

import base64
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from forebay.builder.keys import Windowed
from forebay.builder.topology_job import job
from forebay.codec import DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.processor.messages import Headers
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects, connect
from forebay.sql.catalog import Source
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.evolution import reads
from forebay.sql.program import Program, program_of
from forebay.sql.service import NoSettings
from forebay.sql.sources import formats_of
from forebay.sql.statements import parse
from forebay.sql.syntax import CreateSource
from forebay.testing import Forwarded, TestDriver
from tests.sql.translation.cases import Case, Json
from tests.sql.translation.encoding import Encoding, row_of, schema_text


class Failed(Exception):
    """A case had an unexpected result."""


def failure_of(case: Case) -> str:
    """Return the reason why a case fails, or "" if it passes."""
    registry = LocalSubjects()
    connect(registry)
    try:
        _run(case, registry)
    except Failed as failed:
        return str(failed)
    except Exception as error:
        return f"raises {type(error).__name__}: {error!s:.300}"
    finally:
        connect(LocalSubjects())
    return ""


def _run(case: Case, registry: LocalSubjects) -> None:
    register_schemas(case, registry)
    try:
        program = program_of(case.statements, "case.sql", settings=dict(case.properties))
        driver = TestDriver(job(NoSettings, lambda _: topology_of(program))) if program.queries else None
    except SqlError as error:
        if not case.is_refused:
            raise Failed(f"refused: {error.reason}") from error
        missing = [word for word in case.words if word not in error.reason]
        if missing:
            raise Failed(f"the refusal does not say {', '.join(missing)}: {error.reason}") from error
        return
    if case.is_refused and driver is None:
        raise Failed("accepted, but ksqlDB refuses it")
    for source in case.sources:
        _check_source(program, source)
    if driver is None:
        return
    encodings: dict[str, Encoding] = {}
    read = {source.topic for query in program.queries for source in reads(query)}
    results = {query.target.topic for query in program.queries}
    for record in case.inputs:
        topic = record["topic"]
        if topic in read & results:
            raise Failed(f"an input is of {topic}: a query that reads a result does not read its topic")
        if topic not in encodings:
            encodings[topic] = Encoding(_source_of(program, topic), case.topics.get(topic, {}), registry)
        _send(driver, encodings[topic], record)
    if case.is_refused and not driver.errors:
        raise Failed("accepted, but ksqlDB refuses it")
    if case.is_refused:  # a record that ends ksqlDB's query goes to `.errors` here
        return
    _check_outputs(program, case.outputs, driver)


def register_schemas(case: Case, registry: LocalSubjects) -> None:
    """Register the schemas of a case's topics, from which statements may infer columns."""
    for name, about in case.topics.items():
        for part in ("key", "value"):
            text, kind = schema_text(about, part)
            if text:
                registry.register(f"{name}-{part}", Schema(text), kind, **_id_of(case, about, part))


def _id_of(case: Case, about: Json, part: str) -> dict[str, int]:
    """Return the schema's id in the case or in the statement about its topic, as an argument of `register`."""
    if f"{part}SchemaId" in about:
        return {"schema_id": about[f"{part}SchemaId"]}
    written = re.compile(rf"\b{re.escape(about['name'])}\b[^;]*\b{part}_schema_id\s*=\s*(\d+)", re.IGNORECASE)
    match = written.search(case.statements)
    return {} if match is None else {"schema_id": int(match[1])}


def _source_of(program: Program, topic: str) -> Source:
    """Return the stream or table over a topic, preferably one that a query writes."""
    derived = [query.target for query in program.queries if query.target.topic == topic]
    sources = [*derived, *(source for source in program.catalog if source.topic == topic)]
    if not sources:
        raise Failed(f"there is no stream or table over {topic}")
    return sources[0]


def _send(driver: TestDriver, encoding: Encoding, record: Json) -> None:
    try:
        key, value = encoding.key(record), encoding.value(record)
    except (DecodeError, EncodeError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise Failed(f"an input can't be written: {error!s:.200}") from error
    headers: Headers = [
        (header["KEY"], None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]))
        for header in record.get("headers") or []
    ]
    driver.pipe_bytes(key, value, record.get("timestamp") or 0, record["topic"], headers)


def _check_source(program: Program, wanted: Json) -> None:
    source = next((candidate for candidate in program.catalog if candidate.name == wanted["name"]), None)
    if source is None:
        raise Failed(f"there is no {wanted['name']}")
    if "type" in wanted and source.is_table is not (wanted["type"].lower() == "table"):
        raise Failed(f"{source.name} is not a {wanted['type']}")
    if "schema" not in wanted:
        return
    (parsed,) = parse(f"CREATE STREAM x ({wanted['schema']}) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');")
    assert isinstance(parsed, CreateSource)
    shown = [f"{column.name} {column.type}" for column in parsed.columns]
    if sorted(shown) != sorted(map(str, source.columns)):
        raise Failed(f"{source.name} has the columns {', '.join(map(str, source.columns))}, not {', '.join(shown)}")


def _check_outputs(program: Program, wanted: Sequence[Json], driver: TestDriver) -> None:
    results: dict[str, list[Forwarded[Any]]] = defaultdict(list)
    for output in driver.outputs:
        results[output.topic].append(output)
    expected: dict[str, list[Json]] = defaultdict(list)
    for record in wanted:
        expected[record["topic"]].append(record)
    for topic, records in expected.items():
        source = _source_of(program, topic)
        for number, (output, record) in enumerate(zip(results[topic], records, strict=False), 1):
            difference = _difference(*_with_schemas_columns(source, output, record), record)
            if difference:
                raise Failed(f"wrong: {topic}, record {number}: {difference}")
        if len(results[topic]) != len(records):
            errors = driver.errors[0].headers["error.message"] if driver.errors else "no record failed"
            raise Failed(f"{len(results[topic])} records in {topic}, not {len(records)}; {errors:.200}")


def _with_schemas_columns(source: Source, output: Forwarded[Any], record: Json) -> tuple[Source, Forwarded[Any]]:
    """Return an output as read with all columns of the schema whose id is in the statement.

    Columns that the query does not have contain the defaults of the schema.
    """
    schema_id, value = source.value_form.schema_id, record.get("value")
    known = {column.name.upper() for column in (*source.values, *source.value_form.columns)}
    if not schema_id or output.value is None or not isinstance(value, dict) or known >= set(map(str.upper, value)):
        return source, output
    options = f"KAFKA_TOPIC='x', KEY_FORMAT='NONE', VALUE_FORMAT='{source.encoding.value}', VALUE_SCHEMA_ID={schema_id}"
    [reader] = program_of(f"CREATE STREAM x WITH ({options});", "reader.sql").catalog
    write, read = (formats_of(one)[1].codec(no_contracts) for one in (source, reader))
    value = read.decode(write.encode(output.value))
    return replace(source, values=reader.values), replace(output, value=value)


def _difference(source: Source, output: Forwarded[Any], record: Json) -> str:
    key, window = output.key, None
    if isinstance(key, Windowed):
        key, window = key.key, (key.window.start, key.window.end)
    try:
        wanted_key = _row_of(source, "key", record.get("key"))
        wanted = _row_of(source, "value", record.get("value"))
    except (DecodeError, TypeError) as error:
        return str(error)
    if "key" in record and not _equal(key if source.keys else None, wanted_key if source.keys else None):
        return f"the key is {key}, not {wanted_key}"
    if not _equal(output.value, wanted) and not (wanted is None and _is_null(output.value)):
        return f"the value is {output.value}, not {wanted}"
    if record.get("window") and window != (record["window"]["start"], record["window"]["end"]):
        return f"the window is {window}, not {record['window']}"
    if record.get("timestamp") is not None and output.timestamp != record["timestamp"]:
        return f"the timestamp is {output.timestamp}, not {record['timestamp']}"
    return ""


def _row_of(source: Source, part: str, value: Any) -> Any:
    is_key = part == "key"
    columns, form = (source.keys, source.encoding.key) if is_key else (source.values, source.encoding.value)
    if not columns or (isinstance(value, str) and form != "DELIMITED"):
        return row_of(columns, value) if columns else None
    if isinstance(value, str):
        plain = replace(source, windowing=None)
        return formats_of(plain)[0 if is_key else 1].codec(no_contracts).decode(value.encode())
    return row_of(columns, value)


def _is_null(row: Any) -> bool:
    """Return whether a row consists of a single null column, which some formats write as a null value."""
    return isinstance(row, tuple) and row == (None,)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(part, other[name]) for name, part in one.items())
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal) and _near(one, other)
    return bool(one == other)


def _near(one: Any, other: Any) -> bool:
    return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
