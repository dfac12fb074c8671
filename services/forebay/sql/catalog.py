"""Streams and tables by name: their columns, topics, formats."""

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
    """A column: its name and type."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True, slots=True)
class Windowing:
    """What windows a source's keys have.

    Args:
        kind: TUMBLING, HOPPING, SESSION.
        size_ms: 0 of sessions.
    """

    kind: str
    size_ms: int = 0


@dataclass(frozen=True, slots=True)
class Encoding:
    """How rows of a topic are written.

    Args:
        key, value: names of formats.
        delimiter, key_delimiter: between the columns of DELIMITED values and keys.
        wraps: whether a single column is written as a field; None: as the format does by itself.
    """

    key: str = "KAFKA"
    value: str = "JSON"
    delimiter: str = ","
    wraps: bool | None = None
    key_delimiter: str = ","

    @property
    def key_kind(self) -> str:
        """The name of the keys' format, followed by a space and their delimiter if that is not a comma."""
        return kind_of(self.key, self.key_delimiter)


def kind_of(key: str, delimiter: str) -> str:
    """Return the name of a format of keys, with its delimiter if that is not a comma."""
    return f"{key} {delimiter}" if key == "DELIMITED" and delimiter != "," else key


def delimiter_of(kind: str) -> str:
    """Return the delimiter of a format of keys."""
    return kind.partition(" ")[2] or ","


NAMED = ("AVRO", "PROTOBUF", "JSON_SR")
"""Formats whose bytes name their schema by its id in a registry."""
FRAMED = (*NAMED, "PROTOBUF_NOSR")
"""Formats that follow a schema."""


@dataclass(frozen=True, slots=True)
class Form:
    """Which schema keys or values of a topic are written under.

    Args:
        name: full name of its record or message; "" the usual one.
        nullable: how a message says that a scalar is null: OPTIONAL, WRAPPER; "": not at all.
        text: of a schema that the registry gave; "" made of the columns.
        schema_id: of that schema.
        columns: the source's, as that schema spells them.
    """

    name: str = ""
    nullable: str = ""
    text: str = ""
    schema_id: int = 0
    columns: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a WITH clause says of a topic that is to be made.

    Args:
        partitions, replicas: 0: it does not say.
        retention_ms: -1: for good; None: it does not say.
    """

    partitions: int = 0
    replicas: int = 0
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """A column of a record's headers: one of them, or all (no name)."""

    column: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or table.

    Args:
        timestamp: column that event time is taken from, and how it is written.
        is_derived: whether a statement computes it.
        history_ms: how long former rows of a table are kept; 0: not at all.
        is_framed: whether its rows' keys name their schema, so that equal keys may lie in different partitions.
        key_form, value_form: schemas of its topic.
        wanted: how its topic is made.
        is_read_only: whether it is declared with CREATE SOURCE.
        is_paused: whether it is the result of a paused query. It is then read like one of CREATE SOURCE.
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
        """All columns, keys first."""
        return self.keys + self.values

    def type_of(self, name: str) -> SqlType | None:
        """Return a column's type, that of a pseudo column too; None: there is none of that name."""
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
    """The streams and tables of some statements."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self.types: dict[str, SqlType] = {}

    def copy(self) -> Catalog:
        """Return a catalog of the same sources and types."""
        result = Catalog()
        result._sources, result.types = dict(self._sources), dict(self.types)
        return result

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources.values())

    def find(self, name: str) -> Source | None:
        """Return the source of a name, if there is one."""
        return self._sources.get(name)

    def get(self, name: str, place: Place) -> Source:
        """Return the source of a name. Raises SqlError."""
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
        """Take a source in. Raises SqlError where its name is taken."""
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
        """Forget a source. Raises SqlError."""
        dropped_source = self.get(name, place)
        del self._sources[name]
        return dropped_source
