"""Parser of the statements of a file."""

from __future__ import annotations

from dataclasses import replace

from forebay.sql.administration import Parts, administration
from forebay.sql.errors import SqlError
from forebay.sql.expressions import expression
from forebay.sql.printing import read_print
from forebay.sql.queries import query
from forebay.sql.reader import Reader
from forebay.sql.syntax import (
    ColumnDef,
    Command,
    CreateAs,
    CreateSource,
    CreateType,
    InsertInto,
    InsertValues,
    Select,
    SetProperty,
    Statement,
)
from forebay.sql.tokens import TOO_DEEP, tokens_of
from forebay.sql.types import SqlType
from forebay.sql.variables import Variables, replace_variables
from forebay.sql.written_options import Options, OptionValue

_FIRST = (
    "CREATE, INSERT INTO, SELECT, SHOW, DESCRIBE, EXPLAIN, DROP, ALTER, ASSERT, DEFINE, PAUSE, RESUME, RUN SCRIPT, "
    "TERMINATE or SET"
)


_LISTS = ("STREAMS", "TABLES", "QUERIES", "TOPICS", "FUNCTIONS", "PROPERTIES", "VARIABLES", "TYPES")
"""Words that SHOW accepts."""


def parse(
    text: str,
    file: str = "",
    types: dict[str, SqlType] | None = None,
    variables: Variables | None = None,
    *,
    lower: bool = False,
) -> list[Statement]:
    """Return the statements of a text.

    Args:
        text: The text.
        file: Name of the file, for errors.
        types: Types that earlier CREATE TYPE statements have named. Those of this text are added.
        variables: Variables that earlier DEFINE statements have set. Those of this text are added.
        lower: Whether unquoted names are folded to lower case, as in PostgreSQL, instead of upper case.

    Raises:
        SqlError: A statement is invalid. The message contains the place and the remedy.
    """
    tokens = tokens_of(text, file)
    if "${" in text or any(token.text in ("DEFINE", "UNDEFINE") for token in tokens):
        text, tokens = replace_variables(text, tokens, Variables() if variables is None else variables, file)
    read = Reader(text, tokens, types, lower=lower)
    statements: list[Statement] = []
    while read.token.kind != "end":
        if read.take(";"):
            continue
        start, place = read.token.start, read.place
        try:
            result = _statement(read)
        except RecursionError as error:
            raise SqlError(place, f"the statement {TOO_DEEP}") from error
        if read.token.kind != "end" and not read.at(";"):
            read.fail("a semicolon or what else the statement may have here")
        statements.append(replace(result, place=place, text=text[start : read.token.start].strip()))
    return statements


def _statement(read: Reader) -> Statement:
    if read.at("SELECT"):
        return Select(query(read))
    if read.take("CREATE"):
        return _create(read)
    if read.take("INSERT", "INTO"):
        name = read.name("the name of a stream")
        if read.at("(") or read.at("VALUES"):
            return _values(read, name)
        place, options = read.place, _options(read)
        for option in options:
            if option != "QUERY_ID":
                raise SqlError(options.place_of(option, place), f"INSERT INTO takes QUERY_ID alone, not {option}")
        return InsertInto(name, query(read), str(options.get("QUERY_ID", "")).upper())
    for verb in ("SET", "UNSET"):
        if read.take(verb):
            name = read.string("the setting's name in single quotes")
            value = None
            if verb == "SET":
                read.expect("=")
                value = read.string("the setting's value in single quotes")
            return SetProperty(name, value)
    return administration(read, Parts(_columns, _options)) or _command(read)


def _values(read: Reader, name: str) -> InsertValues:
    columns: list[str] = []
    if read.take("("):
        columns.append(read.name("a column's name"))
        while read.take(","):
            columns.append(read.name("a column's name"))
        read.expect(")")
    read.expect("VALUES")
    read.expect("(")
    values = [expression(read)]
    while read.take(","):
        values.append(expression(read))
    read.expect(")")
    return InsertValues(name, tuple(columns), tuple(values))


def _command(read: Reader) -> Statement:
    if read.take("SHOW") or read.take("LIST"):
        command = _show(read)
    elif read.take("DESCRIBE"):
        if read.at("CONNECTOR") and read.ahead().kind in ("word", "name") and not read.at("CONNECTOR", "EXTENDED"):
            raise connector_refused(read)
        is_function = read.at("FUNCTION") and read.ahead().kind in ("word", "name") and read.take("FUNCTION")
        verb, what = ("DESCRIBE FUNCTION", "function") if is_function else ("DESCRIBE", "stream or table")
        name = read.name(f"the name of a {what}")
        command = Command(verb, name, is_extended=read.take("EXTENDED"))
    elif read.take("EXPLAIN"):
        if read.token.kind == "name" or read.ahead().kind == "end" or read.ahead().text == ";":
            command = Command("EXPLAIN", read.name())
        else:
            command = Command("EXPLAIN", "", _statement(read))
    elif read.take("PRINT"):
        command = read_print(read)
    elif read.take("TERMINATE"):
        command = Command("TERMINATE", read.name("a query's name, or ALL"))
    elif read.take("DROP"):
        command = _drop(read)
    else:
        read.fail(_FIRST)
    return command


def _show(read: Reader) -> Command:
    if read.ahead().text == "CONNECTORS" or read.at("CONNECTORS") or read.at("CONNECTOR", "PLUGINS"):
        raise connector_refused(read)
    if read.at("ALL", "TOPICS"):
        read.step()
    if not any(read.at(word) for word in _LISTS):
        read.fail(f"{', '.join(_LISTS[:-1])} or {_LISTS[-1]}")
    command = Command("SHOW", read.step().text)
    read.take("EXTENDED")
    return command


def connector_refused(read: Reader) -> SqlError:
    """Return the error for a statement about connectors, which Forebay does not run."""
    return SqlError(
        read.place,
        "connectors run in Kafka Connect: create and list them there (REST API, POST /connectors), and leave this "
        "statement out",
    )


def _drop(read: Reader) -> Command:
    if read.at("CONNECTOR"):
        raise connector_refused(read)
    if read.at("MATERIALIZED", "VIEW"):
        read.step()
    elif not (read.at("STREAM") or read.at("TABLE") or read.at("TYPE")):
        read.fail("STREAM, TABLE, MATERIALIZED VIEW or TYPE")
    kind = read.step().text
    missing = read.take("IF", "EXISTS")
    name = read.name()
    if kind == "TYPE":
        read.types.pop(name, None)
    return Command(f"DROP {kind}", name, if_exists=missing, deletes_topic=read.take("DELETE", "TOPIC"))


def _create(read: Reader) -> Statement:
    or_replace = read.take("OR", "REPLACE")
    if read.take("TYPE"):
        is_optional = read.take("IF", "NOT", "EXISTS")
        place, name = read.place, read.name("the type's name")
        read.expect("AS")
        kind, known = read.type(), read.types.get(name)
        if known is not None and not is_optional:
            raise SqlError(
                place,
                f"the type {name} is {known} already: give this one another name, or write DROP TYPE {name} before",
            )
        read.types[name] = known or kind
        return CreateType(name, read.types[name])
    if read.take("MATERIALIZED"):
        read.expect("VIEW")
        return _view(read, or_replace)
    if read.at("CONNECTOR") or ((read.at("SOURCE") or read.at("SINK")) and read.ahead().text == "CONNECTOR"):
        raise connector_refused(read)
    is_read_only = read.take("SOURCE")
    if not (read.at("STREAM") or read.at("TABLE")):
        read.fail("STREAM, TABLE, MATERIALIZED VIEW or TYPE")
    is_table = read.step().text == "TABLE"
    missing = read.take("IF", "NOT", "EXISTS")
    name = read.name("the name of the stream or table")
    columns = _columns(read) if read.at("(") else ()
    place, options = read.place, _options(read)
    if read.take("AS"):
        if is_read_only:
            raise SqlError(
                place, f"CREATE SOURCE declares a topic that others write: leave SOURCE out of {name} AS SELECT"
            )
        if columns:
            raise SqlError(place, f"{name} AS SELECT has its columns from the query: leave the list of columns out")
        return CreateAs(name, is_table, options, query(read), or_replace, missing)
    return CreateSource(name, is_table, columns, options, or_replace, missing, is_read_only)


def _view(read: Reader, or_replace: bool) -> CreateAs:
    """Return CREATE MATERIALIZED VIEW as CREATE TABLE ... AS SELECT, with the null semantics of PostgreSQL."""
    missing = read.take("IF", "NOT", "EXISTS")
    name, options = read.name("the name of the view"), _options(read)
    read.expect("AS")
    return CreateAs(name, True, options, replace(query(read), standard=True), or_replace, missing)


def _columns(read: Reader) -> tuple[ColumnDef, ...]:
    read.expect("(")
    columns: list[ColumnDef] = []
    while not read.take(")"):
        if columns:
            read.expect(",")
        place, name = read.place, read.name("a column's name")
        if any(name == other.name for other in columns):
            raise SqlError(place, f"the column {name} occurs twice: give each its own name")
        kind, role, header = read.type(), "", ""
        if read.take("PRIMARY", "KEY"):
            role = "PRIMARY KEY"
        elif read.take("KEY"):
            role = "KEY"
        elif read.take("HEADERS"):
            role = "HEADERS"
        elif read.take("HEADER", "("):
            role, header = "HEADER", read.string()
            read.expect(")")
        columns.append(ColumnDef(name, kind, role, header, place))
    return tuple(columns)


def _options(read: Reader) -> Options:
    options = Options()
    if not read.take("WITH"):
        return options
    read.expect("(")
    while not read.take(")"):
        if options:
            read.expect(",")
        place = read.place
        name = read.step().text.upper() if read.token.kind == "text" else read.name("an option such as KAFKA_TOPIC")
        read.expect("=")
        options[name] = _option(read, name)
        options.places[name] = place
    return options


def _option(read: Reader, name: str) -> OptionValue:
    if read.take("-"):
        return -read.whole()
    if read.token.kind == "number":
        if name == "WINDOW_SIZE":
            return read.duration()
        return read.whole()
    if read.at("TRUE") or read.at("FALSE"):
        return read.step().text == "TRUE"
    return read.string("a value: a number, TRUE, FALSE, or a text in single quotes")
