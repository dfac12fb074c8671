"""Changes of declarations by ALTER, and checks of declarations and schemas by ASSERT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from forebay.sql import options, supported
from forebay.sql.administration import AlterSource, AssertSchema, AssertSource
from forebay.sql.catalog import HEADERS, Catalog, Named, Source
from forebay.sql.errors import SqlError
from forebay.sql.schemas.inference import Lookup
from forebay.sql.syntax import ColumnDef
from forebay.sql.types import BYTES
from forebay.sql.written_options import Options


def alter(statement: AlterSource, catalog: Catalog) -> Source:
    """Return a declared source with the columns that ALTER adds at its end. Raises SqlError."""
    source = catalog.get(statement.name, statement.place)
    kind = "TABLE" if source.is_table else "STREAM"
    if source.is_table is not statement.is_table:
        raise SqlError(statement.place, f"{source.name} is a {kind}: write ALTER {kind} {source.name}")
    if source.is_derived:
        raise SqlError(
            statement.place,
            f"{source.name} has its columns from its query: write CREATE OR REPLACE {kind} {source.name} AS SELECT",
        )
    names = [column.name for column in source.columns] + [header.column for header in source.headers]
    for column in statement.columns:
        if column.name in names:
            raise SqlError(column.place, f"{source.name} has a column {column.name} already: add it under another name")
        names.append(column.name)
    more = tuple(Named(column.name, column.type) for column in statement.columns)
    if source.value_form.text:
        raise SqlError(
            statement.place,
            f"{source.name} has its columns from the schema of {source.topic}: register a schema that has the column",
        )
    altered = replace(source, values=source.values + more, place=statement.place)
    places = {column.name: column.place for column in statement.columns}
    supported.check_source(altered, supported.Written(places, Options(), statement.place))
    return altered


def check_declaration(statement: AssertSource, catalog: Catalog, settings: Mapping[str, str], lookup: Lookup) -> None:
    """Raise SqlError if a stream or table differs from its ASSERT statement."""
    wanted = statement.declaration
    kind = "TABLE" if wanted.is_table else "STREAM"
    source = catalog.find(wanted.name)
    if source is None or source.is_table is not wanted.is_table:
        raise SqlError(statement.place, f"ASSERT: there is no {kind} {wanted.name}: declare it before this statement")
    given = Options(wanted.options.places)
    given.update({"KAFKA_TOPIC": source.topic, **wanted.options})
    if not {"FORMAT", "VALUE_FORMAT"} & given.keys():
        given["VALUE_FORMAT"] = source.encoding.value
    if not {"FORMAT", "KEY_FORMAT"} & given.keys():
        given["KEY_FORMAT"] = source.encoding.key
    columns = wanted.columns or _definitions(source)
    complete = replace(wanted, columns=columns, options=given, place=statement.place)
    asserted = options.declare(complete, dict(settings), lookup)
    differences = [
        f"{what} {has or 'none'}, not {should or 'none'}"
        for what, has, should in (
            ("columns", _columns(source), _columns(asserted)),
            ("topic", source.topic, asserted.topic),
            ("key format", source.encoding.key_kind, asserted.encoding.key_kind),
            ("value format", source.encoding.value, asserted.encoding.value),
            ("event time", " ".join(source.timestamp or ()), " ".join(asserted.timestamp or ())),
        )
        if has != should and (what != "event time" or asserted.timestamp)
    ]
    if differences:
        result = "; the ".join(differences)
        raise SqlError(statement.place, f"ASSERT: {source.name} has the {result}: change one of them")


def _definitions(source: Source) -> tuple[ColumnDef, ...]:
    """Return the columns of a source as column definitions."""
    role = "PRIMARY KEY" if source.is_table else "KEY"
    keys = [ColumnDef(column.name, column.type, role) for column in source.keys]
    values = [ColumnDef(column.name, column.type) for column in source.values]
    headers = [
        ColumnDef(header.column, BYTES if header.name else HEADERS, "HEADER" if header.name else "HEADERS", header.name)
        for header in source.headers
    ]
    return (*keys, *values, *headers)


def _columns(source: Source) -> str:
    keys = [f"{column} KEY" for column in source.keys]
    return ", ".join([*keys, *map(str, source.values), *(header.column for header in source.headers)])


def check_schema(statement: AssertSchema, lookup: Lookup) -> None:
    """Raise SqlError if the registry contradicts an ASSERT SCHEMA statement. Raises Unavailable."""
    from forebay.codec import Unavailable  # noqa: PLC0415 (few files have this statement)
    from forebay.serde.resolver import UnknownSchemaId  # noqa: PLC0415

    by_id = f"id {statement.schema_id}" if statement.schema_id else ""
    what = " with ".join(part for part in (statement.subject and f"subject {statement.subject}", by_id) if part)
    try:
        exists = lookup(statement.subject, statement.schema_id) is not None
    except UnknownSchemaId:
        exists = False
    except Unavailable as error:
        raise SqlError(statement.place, f"ASSERT: the registry can't be asked for {what}: {error}") from error
    if exists is not statement.exists:
        raise SqlError(
            statement.place,
            f"ASSERT: the registry has {'a' if exists else 'no'} schema of {what}: "
            f"{'delete' if exists else 'register'} it, or take this statement out",
        )
