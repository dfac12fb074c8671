"""Inference of columns that a declaration omits, from the registered schemas of its topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forebay.codec import Unavailable
from forebay.serde.resolver import UnknownSchemaId
from forebay.sql.catalog import NAMED, Encoding, Form, Named
from forebay.sql.errors import Place, SqlError
from forebay.sql.schemas.nesting import MOST_FIELDS, TooManyFields
from forebay.sql.types import ArrayType, MapType, SqlType, StructType
from forebay.sql.written_options import Options

Lookup = Callable[[str, int], tuple[int, str] | None]
"""Function of a subject and a schema id. It returns id and text of this schema, or of the newest one if the id is 0."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a WITH clause for the schema of keys or values.

    Args:
        part: KEY or VALUE.
        kind: Name of the format.
    """

    part: str
    kind: str
    given: Options
    topic: str
    place: Place

    @property
    def schema_id(self) -> int:
        """The schema id that is specified, or 0. Raises SqlError."""
        result = self.given.get(f"{self.part}_SCHEMA_ID", 0)
        if not isinstance(result, int) or isinstance(result, bool):
            raise SqlError(self.place, f"{self.part}_SCHEMA_ID is {result!r}: write the number that the registry gave")
        return result

    def form(self) -> Form:
        """Return the schema properties of a topic whose columns are declared."""
        name = self.given.get(f"{self.part}_SCHEMA_FULL_NAME", self.given.get(f"{self.part}_AVRO_SCHEMA_FULL_NAME", ""))
        nullable = str(self.given.get(f"{self.part}_PROTOBUF_NULLABLE_REPRESENTATION", "")).upper()
        if nullable not in ("", "OPTIONAL", "WRAPPER"):
            raise SqlError(self.place, f"{self.part}_PROTOBUF_NULLABLE_REPRESENTATION: write OPTIONAL or WRAPPER")
        return Form(str(name), nullable)

    @property
    def subject(self) -> str:
        """Subject of the topic's keys or values."""
        return f"{self.topic}-{self.part.lower()}"


def complete(
    asked: Asked, columns: tuple[Named, ...], encoding: Encoding, lookup: Lookup, written: tuple[Named, ...] = ()
) -> tuple[tuple[Named, ...], Form]:
    """Return the columns of keys or values, and the properties of their schema. Raises SqlError.

    Args:
        written: Columns that the same statements write to the topic in this format, which its newest schema will have.
    """
    form = asked.form()
    has_registry = asked.kind in NAMED
    if asked.schema_id and not has_registry:
        raise SqlError(
            asked.place,
            f"{asked.part}_SCHEMA_ID is for AVRO, PROTOBUF and JSON_SR, not {asked.kind}: leave it out",
        )
    if asked.schema_id and columns:
        raise SqlError(
            asked.place,
            f"{asked.part}_SCHEMA_ID says what the columns are: leave out the list of columns, or the schema",
        )
    if columns or not has_registry:
        return columns, form
    schema_id, text = (0, "") if written and not asked.schema_id else looked_up(asked, lookup)
    if text:
        physical = columns_of(asked, text, form.name, wraps=_wraps(asked, encoding))
    elif len(written) == 1 and not _wraps(asked, encoding):
        physical = (_unwrap(asked, written[0].type),)
    else:
        physical = written
    logical = (
        physical if asked.schema_id else tuple(Named(member.name.upper(), _upper(member.type)) for member in physical)
    )
    return logical, Form(form.name, form.nullable, text, schema_id, physical)


def chosen(asked: Asked, columns: tuple[Named, ...], encoding: Encoding, lookup: Lookup) -> Form:
    """Return the schema with which a result is written. A specified schema must have its columns. Raises SqlError."""
    form = asked.form()
    if not asked.schema_id or not columns:
        return form
    if asked.kind not in NAMED:
        raise SqlError(asked.place, f"{asked.part}_SCHEMA_ID is for AVRO, PROTOBUF and JSON_SR, not {asked.kind}")
    schema_id, text = looked_up(asked, lookup)
    theirs = columns_of(asked, text, form.name, wraps=_wraps(asked, encoding))
    if len(columns) == len(theirs) == 1 and not _wraps(asked, encoding):
        theirs = (Named(columns[0].name, theirs[0].type),)
    results = []
    for column in columns:
        same = [column_read for column_read in theirs if column_read.name in (column.name, column.name.lower())]
        if not same or _upper(same[0].type) != _upper(column.type):
            wanted = ", ".join(map(str, theirs))
            raise SqlError(
                asked.place, f"the schema {schema_id} has no {column}: it has {wanted}; select them, with CAST and AS"
            )
        results.append(same[0])
    if asked.kind == "AVRO":
        _check_required(asked, text, {column.name for column in results})
    return Form(form.name, form.nullable, text, schema_id, tuple(results))


def _check_required(asked: Asked, text: str, written: set[str]) -> None:
    """Raise SqlError if a schema has required fields that are not written."""
    from forebay.sql.schemas.avro import required_fields  # noqa: PLC0415 (it brings the format)

    missing = [name for name in required_fields(text) if name not in written]
    if missing:
        raise SqlError(
            asked.place,
            f"the schema {asked.schema_id} has the field {missing[0]}, which has no default and is not among the "
            "columns: select it, or name another schema",
        )


def looked_up(asked: Asked, lookup: Lookup) -> tuple[int, str]:
    """Return id and text of a topic's schema. Raises SqlError."""
    try:
        result = lookup(asked.subject, asked.schema_id)
    except (Unavailable, UnknownSchemaId) as error:
        raise SqlError(
            asked.place, f"{asked.topic}: the columns are left out, and no registry gives them: {error}"
        ) from error
    if result is None:
        word = "KEY_FORMAT = 'NONE', or a column with KEY" if asked.part == "KEY" else "the columns"
        raise SqlError(
            asked.place, f"{asked.topic}: the registry has no schema {asked.subject}: write {word}, or register one"
        )
    return result


def _wraps(asked: Asked, encoding: Encoding) -> bool:
    if asked.kind.startswith("PROTOBUF"):
        return True
    return asked.part == "VALUE" and encoding.wraps is not False


def columns_of(asked: Asked, text: str, name: str, *, wraps: bool) -> tuple[Named, ...]:
    """Return the columns of a schema. As in ksqlDB, fields without an SQL type are skipped. Raises SqlError."""
    from forebay.sql.schemas.topics import type_of  # noqa: PLC0415 (it brings every format; most columns are declared)

    try:
        kind = type_of(asked.kind, text, name)
        count = _count_fields(kind, {})
    except (RecursionError, TooManyFields):
        count = MOST_FIELDS + 1
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SqlError(asked.place, f"{asked.subject} is not a schema of {asked.kind}: {error}") from error
    if count > MOST_FIELDS:
        raise SqlError(
            asked.place, f"{asked.subject} has more than {MOST_FIELDS:,} fields within fields: write the columns"
        )
    if not wraps and kind is not None:
        return (_unwrap(asked, kind),)
    if not isinstance(kind, StructType) or not kind.fields:
        more = ": write WRAP_SINGLE_VALUE = FALSE" if kind is not None and asked.part == "VALUE" else ""
        raise SqlError(asked.place, f"{asked.subject} has no columns that SQL has types for{more}")
    return tuple(Named(field, item) for field, item in kind.fields)


def _count_fields(kind: SqlType | None, known: dict[int, int]) -> int:
    """Return the number of fields of a type and of all types in it. A type that is used twice counts twice."""
    match kind:
        case ArrayType(item) | MapType(_, item):
            return _count_fields(item, known)
        case StructType(fields):
            if id(kind) not in known:
                known[id(kind)] = sum(1 + _count_fields(item, known) for _, item in fields)
            return known[id(kind)]
    return 0


def _unwrap(asked: Asked, kind: SqlType) -> Named:
    return Named("ROWKEY" if asked.part == "KEY" else "ROWVAL", kind)


def _upper(kind: SqlType) -> SqlType:
    match kind:
        case StructType(fields):
            return StructType(tuple((name.upper(), _upper(item)) for name, item in fields))
        case ArrayType(item):
            return ArrayType(_upper(item))
        case MapType(key, value):
            return MapType(key, _upper(value))
    return kind
