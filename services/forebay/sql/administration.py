"""Parser of ALTER, ASSERT, DEFINE, PAUSE, RESUME and RUN SCRIPT, which change, check or include other statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forebay.sql.errors import SqlError
from forebay.sql.option_values import with_values
from forebay.sql.reader import Reader
from forebay.sql.syntax import ColumnDef, Command, CreateSource, Statement
from forebay.sql.written_options import Options

DEFAULT_TIMEOUT_MS = 1_000
"""Default time for which ASSERT waits for a topic or schema, as in ksqlDB."""


@dataclass(frozen=True, slots=True)
class AlterSource(Statement):
    """ALTER STREAM or ALTER TABLE ... ADD COLUMN."""

    name: str
    is_table: bool
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True)
class AssertSource(Statement):
    """ASSERT STREAM or ASSERT TABLE, a declaration that must exist already."""

    declaration: CreateSource


@dataclass(frozen=True, slots=True)
class AssertTopic(Statement):
    """ASSERT TOPIC, a topic that must or must not exist when the job starts.

    Args:
        options: PARTITIONS and REPLICAS, if they are specified.
    """

    topic: str
    options: Options
    exists: bool
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AssertSchema(Statement):
    """ASSERT SCHEMA, a schema that must or must not exist in the registry.

    Args:
        subject: Subject of the schema, or "" for any subject.
        schema_id: Id of the schema, or 0 for any id.
    """

    subject: str
    schema_id: int
    exists: bool


@dataclass(frozen=True, slots=True)
class Define(Statement):
    """DEFINE, which sets a variable, and UNDEFINE, which removes it."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class RunScript(Statement):
    """RUN SCRIPT, which includes the statements of another file."""

    path: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Parsers of the parts that several kinds of statements have."""

    columns: Callable[[Reader], tuple[ColumnDef, ...]]
    options: Callable[[Reader], Options]


def administration(read: Reader, parts: Parts) -> Statement | None:
    """Return the next statement if it is of a kind of this module, or None. Raises SqlError."""
    for verb in ("PAUSE", "RESUME"):
        if read.take(verb):
            return Command(verb, read.name("a query's name, or ALL"))
    if read.take("DEFINE"):
        name = read.name("the variable's name")
        read.expect("=")
        return Define(name, read.string("the variable's value in single quotes"))
    if read.take("UNDEFINE"):
        return Define(read.name("the variable's name"), None)
    if read.take("RUN"):
        read.expect("SCRIPT")
        return RunScript(read.string("the file's name in single quotes"))
    if read.take("ALTER"):
        return _alter(read)
    return _assertion(read, parts) if read.take("ASSERT") else None


def _kind(read: Reader) -> bool:
    """Return whether the next word is TABLE. Raises SqlError if it is neither STREAM nor TABLE."""
    if not (read.at("STREAM") or read.at("TABLE")):
        read.fail("STREAM or TABLE")
    return read.step().text == "TABLE"


def _alter(read: Reader) -> AlterSource:
    is_table, name = _kind(read), read.name("the name of the stream or table")
    columns: list[ColumnDef] = []
    while not columns or read.take(","):
        read.expect("ADD")
        read.take("COLUMN")
        place, column = read.place, read.name("a column's name")
        columns.append(ColumnDef(column, read.type(), place=place))
        if read.at("KEY") or read.at("PRIMARY", "KEY"):
            read.fail("a column without KEY: the key of a source can't change")
    return AlterSource(name, is_table, tuple(columns))


def _assertion(read: Reader, parts: Parts) -> Statement:
    absent = read.take("NOT", "EXISTS")
    if read.take("TOPIC"):
        topic = _written_name(read, "a topic's name")
        place, options = read.place, parts.options(read)
        for option in options:
            if option not in ("PARTITIONS", "REPLICAS"):
                raise SqlError(
                    options.place_of(option, place), f"ASSERT TOPIC takes PARTITIONS and REPLICAS, not {option}"
                )
        return AssertTopic(topic, with_values(options, place), not absent, _timeout(read))
    if read.take("SCHEMA"):
        subject, schema_id = "", 0
        if read.take("SUBJECT"):
            subject = _written_name(read, "a subject's name")
        if read.take("ID"):
            schema_id = read.whole("the schema's id")
        if not subject and not schema_id:
            read.fail("SUBJECT '...', ID and a number, or both")
        _timeout(read)
        return AssertSchema(subject, schema_id, not absent)
    if absent or not (read.at("STREAM") or read.at("TABLE")):
        read.fail("TOPIC or SCHEMA" if absent else "TOPIC, SCHEMA, STREAM, TABLE, or NOT EXISTS TOPIC")
    is_table, name = _kind(read), read.name("the name of the stream or table")
    columns = parts.columns(read) if read.at("(") else ()
    return AssertSource(CreateSource(name, is_table, columns, parts.options(read)))


def _written_name(read: Reader, what: str) -> str:
    """Return a name that is not an SQL identifier, such as a topic, without changing its case. Raises SqlError."""
    token = read.token
    if token.kind == "word":
        return read.text[read.step().start : token.stop]
    return read.step().text if token.kind == "text" else read.name(what)


def _timeout(read: Reader) -> int:
    return read.duration() if read.take("TIMEOUT") else DEFAULT_TIMEOUT_MS
