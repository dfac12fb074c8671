"""The catalog of streams and tables, with their columns, topics and formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from forebay.sql.errors import NOWHERE, Place, SqlError
from forebay.sql.types import BIGINT, BYTES, INT, STRING, ArrayType, SqlType, StructType
from forebay.utils.spelling import did_you_mean

ROWTIME, ROWPARTITION, ROWOFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"
WINDOWSTART, WINDOWEND = "WINDOWSTART", "WINDOWEND"
HEADERS = ArrayType(StructType((("KEY", STRING), ("VALUE", BYTES))))

PSEUDO: dict[str, SqlType] = {ROWTIME: BIGINT, ROWPARTITION: INT, ROWOFFSET: BIGINT}
BOUNDS: dict[str, SqlType] = {WINDOWSTART: BIGINT, WINDOWEND: BIGINT}


@dataclass(frozen=True, slots=True)
class Named:
    """Name and type of a column."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True, slots=True)
class Windowing:
    """The windows of a source's keys.

    Args:
        kind: TUMBLING, HOPPING, SESSION.
        size_ms: Size of a window (ms), or 0 for sessions.
    """

    kind: str
    size_ms: int = 0


@dataclass(frozen=True, slots=True)
class Encoding:
    """The formats of a topic's keys and values.

    Args:
        key, value: Names of formats.
        delimiter, key_delimiter: Separator of the columns of DELIMITED values and keys.
        wraps: Whether a single column is written as a field of a record. None is the default of the format.
    """

    key: str = "KAFKA"
    value: str = "JSON"
    delimiter: str = ","
    wraps: bool | None = None
    key_delimiter: str = ","

    @property
    def key_kind(self) -> str:
        """Name of the key format, followed by a space and the delimiter if the delimiter is not a comma."""
        return kind_of(self.key, self.key_delimiter)


def kind_of(key: str, delimiter: str) -> str:
    """Return the name of a key format, followed by a space and the delimiter if the delimiter is not a comma."""
    return f"{key} {delimiter}" if key == "DELIMITED" and delimiter != "," else key


def delimiter_of(kind: str) -> str:
    """Return the delimiter from a name that `kind_of` has returned."""
    return kind.partition(" ")[2] or ","


NAMED = ("AVRO", "PROTOBUF", "JSON_SR")
"""Formats whose data contains the id of a registered schema."""
FRAMED = (*NAMED, "PROTOBUF_NOSR")
"""Formats that have a schema."""


@dataclass(frozen=True, slots=True)
class Form:
    """The schema of a topic's keys or values.

    Args:
        name: Full name of the record or message, or "" for the default name.
        nullable: Representation of a null scalar in a message: OPTIONAL, WRAPPER, or "" if null is not possible.
        text: Text of a schema from the registry, or "" if the schema is derived from the columns.
        schema_id: Id of this schema.
        columns: Columns of the source, with the spelling of this schema.
    """

    name: str = ""
    nullable: str = ""
    text: str = ""
    schema_id: int = 0
    columns: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The properties that a WITH clause specifies for a topic that will be created.

    Args:
        partitions, replicas: Numbers of partitions and replicas. 0 if they are not specified.
        retention_ms: Retention (ms). -1 if it is unlimited, None if it is not specified.
    """

    partitions: int = 0
    replicas: int = 0
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """A column with the value of a record's header or, if `name` is "", with all headers."""

    column: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or table.

    Args:
        timestamp: Column that contains the event time, and its format.
        is_derived: Whether a query computes it.
        is_framed: Whether keys contain schema ids, so that equal keys can be in different partitions.
        history_ms: Time (ms) for which former rows of a table are kept, or 0 if they are not kept.
        key_form, value_form: Schemas of the topic.
        wanted: Properties with which the topic is created.
        is_read_only: Whether it is declared with CREATE SOURCE.
        is_paused: Whether it is the result of a paused query. It is then read like a source of CREATE SOURCE.
    """

    name: str
    is_table: bool
    keys: tuple[Named, ...]
    values: tuple[Named, ...]
    topic: str
    encoding: Encoding
    windowing: Windowing | None = None
    timestamp: tuple[str, str] | None = None
    headers: tuple[Header, ...] = ()
    is_derived: bool = False
    is_framed: bool = False
    history_ms: int = 0
    key_form: Form = Form()
    value_form: Form = Form()
    wanted: Wanted = Wanted()
    is_read_only: bool = False
    is_paused: bool = False
    place: Place = field(default=NOWHERE, compare=False)

    @property
    def columns(self) -> tuple[Named, ...]:
        """All columns. Those of the key are first."""
        return self.keys + self.values

    def type_of(self, name: str) -> SqlType | None:
        """Return the type of a column or pseudo column, or None if there is no column with this name."""
        for column in self.columns:
            if column.name == name:
                return column.type
        for header in self.headers:
            if header.column == name:
                return BYTES if header.name else HEADERS
        if name in PSEUDO:
            return PSEUDO[name]
        return BOUNDS.get(name) if self.windowing is not None else None


class Catalog:
    """The streams, tables and named types that statements have declared."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self.types: dict[str, SqlType] = {}

    def copy(self) -> Catalog:
        """Return a catalog with the same sources and types."""
        result = Catalog()
        result._sources, result.types = dict(self._sources), dict(self.types)
        return result

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources.values())

    def find(self, name: str) -> Source | None:
        """Return the source with a name, or None."""
        return self._sources.get(name)

    def get(self, name: str, place: Place) -> Source:
        """Return the source with a name. Raises SqlError if it does not exist."""
        source = self._sources.get(name)
        if source is None:
            known = ", ".join(sorted(self._sources)) or "none"
            raise SqlError(
                place,
                f"{name} does not exist: write CREATE STREAM or TABLE {name} before; there is: {known}"
                f"{did_you_mean(name, self._sources)}",
            )
        return source

    def add(self, source: Source, *, replaces: bool = False) -> None:
        """Add a source. Raises SqlError if its name is used, unless it replaces the other source."""
        other = self._sources.get(source.name)
        if other is not None and not replaces:
            kind = "table" if other.is_table else "stream"
            raise SqlError(
                source.place,
                f"{source.name} is a {kind} already, from {other.place}: give this one another name, or write "
                "CREATE OR REPLACE",
            )
        self._sources[source.name] = source

    def drop(self, name: str, place: Place) -> Source:
        """Remove a source, and return it. Raises SqlError if it does not exist."""
        dropped_source = self.get(name, place)
        del self._sources[name]
        return dropped_source
