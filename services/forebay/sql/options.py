"""Options of the WITH clause for topics, formats, windows and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from forebay.sql import supported
from forebay.sql.catalog import NAMED, Encoding, Header, Named, Source, Wanted, Windowing, kind_of
from forebay.sql.errors import Place, SqlError
from forebay.sql.header_columns import header_of
from forebay.sql.option_values import with_values
from forebay.sql.schemas.inference import Asked, Lookup, chosen, complete
from forebay.sql.schemas.lookup import ask
from forebay.sql.syntax import CreateAs, CreateSource
from forebay.sql.time_options import history_of, timestamp_of, windowing_of
from forebay.sql.written_options import Options
from forebay.utils.names import IllegalName, check_name
from forebay.utils.spelling import did_you_mean

FORMATS = ("JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED", "KAFKA", "NONE")
_KNOWN = frozenset(
    [
        "KAFKA_TOPIC",
        "VALUE_FORMAT",
        "KEY_FORMAT",
        "FORMAT",
        "PARTITIONS",
        "REPLICAS",
        "RETENTION_MS",
        "TIMESTAMP",
        "TIMESTAMP_FORMAT",
        "WINDOW_TYPE",
        "WINDOW_SIZE",
        "VALUE_DELIMITER",
        "KEY_DELIMITER",
        "WRAP_SINGLE_VALUE",
        "VALUE_SCHEMA_ID",
        "KEY_SCHEMA_ID",
        "VALUE_SCHEMA_FULL_NAME",
        "KEY_AVRO_SCHEMA_FULL_NAME",
        "KEY_SCHEMA_FULL_NAME",
        "CLEANUP_POLICY",
        "HISTORY_RETENTION",
        "VALUE_AVRO_SCHEMA_FULL_NAME",
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
    ]
)


def check_options(given: Options, place: Place) -> Options:
    """Return the options with converted values. Raises SqlError for an option that is unknown or has no effect."""
    for name in given:
        if name not in _KNOWN:
            choice = did_you_mean(name, sorted(_KNOWN)) or f": write one of {', '.join(sorted(_KNOWN))}"
            raise SqlError(given.place_of(name, place), f"there is no option {name}{choice}")
    if "FORMAT" in given and ({"KEY_FORMAT", "VALUE_FORMAT"} & given.keys()):
        raise SqlError(place, "FORMAT sets both KEY_FORMAT and VALUE_FORMAT: write it, or those two")
    if "CLEANUP_POLICY" in given:
        raise SqlError(
            given.place_of("CLEANUP_POLICY", place),
            "a table's topic is compacted, and a stream's is not, and CLEANUP_POLICY can't change that: omit it",
        )
    return with_values(given, place)


def key_format(given: Options) -> str:
    """Return the key format that the options name, or ""."""
    return kind_of(str(given.get("KEY_FORMAT", given.get("FORMAT", ""))).upper(), str(given.get("KEY_DELIMITER", ",")))


def default_key_format(settings: Mapping[str, str]) -> str:
    """Return the format of keys that are not derived from keys of a source."""
    return settings.get("ksql.persistence.default.format.key", "KAFKA").upper()


def declare(
    statement: CreateSource, settings: dict[str, str], lookup: Lookup = ask, writers: Iterable[Source] = ()
) -> Source:
    """Return the source that a CREATE STREAM or CREATE TABLE declares. Raises SqlError.

    Args:
        statement: The statement.
        settings: Properties of SET.
        lookup: Returns the schemas of a topic whose columns are not declared.
        writers: Results of earlier queries. If the statement declares the topic of one of them without columns, it has
            the columns of this result.
    """
    place, given = statement.place, check_options(statement.options, statement.place)
    topic = given.get("KAFKA_TOPIC")
    if topic is None:
        raise SqlError(place, "the topic is missing: write WITH (KAFKA_TOPIC = '...', VALUE_FORMAT = 'JSON')")
    word = "PRIMARY KEY" if statement.is_table else "KEY"
    keys, values, headers = list[Named](), list[Named](), list[Header]()
    for column in statement.columns:
        if column.role in ("KEY", "PRIMARY KEY"):
            if column.role != word:
                raise SqlError(place, f"the column {column.name}: write {word} for a {_word(statement.is_table)}")
            keys.append(Named(column.name, column.type))
        elif column.role:
            headers.append(header_of(column, headers))
        else:
            values.append(Named(column.name, column.type))
    encoding = _encoding(given, settings, Encoding("", ""), place)
    if not encoding.value:
        raise SqlError(place, f"the format is missing: write VALUE_FORMAT = one of {', '.join(FORMATS)}")
    if "HISTORY_RETENTION" in given:
        raise SqlError(place, "HISTORY_RETENTION is for CREATE TABLE ... AS SELECT: write it there")
    encoding = encoding if encoding.key else replace(encoding, key="KAFKA")
    written = _written(str(topic), encoding, writers)
    key, key_form = complete(
        Asked("KEY", encoding.key, given, str(topic), place), tuple(keys), encoding, lookup, written[0]
    )
    value, form = complete(
        Asked("VALUE", encoding.value, given, str(topic), place), tuple(values), encoding, lookup, written[1]
    )
    if not (key or value or statement.columns):
        raise SqlError(place, f"{statement.name} has no columns: write some, such as (id STRING KEY, n INT)")
    if statement.is_table and not key:
        raise SqlError(place, "a table needs a key: write PRIMARY KEY behind a column")
    source = Source(
        statement.name,
        statement.is_table,
        key,
        value,
        str(topic),
        encoding,
        windowing_of(given, place),
        timestamp_of(given, (*key, *value), place),
        tuple(headers),
        is_framed=encoding.key in NAMED,
        key_form=key_form,
        value_form=form,
        wanted=_topic_options(given, place, is_compacted=statement.is_table),
        is_read_only=statement.is_read_only,
        place=place,
    )
    places = {column.name: column.place for column in statement.columns}
    supported.check_source(source, supported.Written(places, given, place))
    return source


def target(
    statement: CreateAs,
    given: Options,
    settings: dict[str, str],
    source: Source,
    columns: tuple[tuple[Named, ...], tuple[Named, ...]],
    windowing: Windowing | None,
    key: str,
    lookup: Lookup = ask,
    *,
    is_framed: bool = False,
) -> Source:
    """Return the source that is the result of a CREATE ... AS. Raises SqlError."""
    keys, values = columns
    named = str(given.get("KAFKA_TOPIC", settings.get("ksql.output.topic.name.prefix", "") + statement.name))
    try:
        check_name(named)
    except IllegalName as error:
        raise SqlError(statement.place, f"{error}, WITH (KAFKA_TOPIC = '...')") from error
    encoding = _encoding(
        given, settings, replace(source.encoding, key=key.partition(" ")[0], wraps=None), statement.place
    )
    forms = [
        chosen(Asked(part, kind, given, named, statement.place), item, encoding, lookup)
        for part, kind, item in (("KEY", encoding.key, keys), ("VALUE", encoding.value, values))
    ]
    source = Source(
        statement.name,
        statement.is_table,
        keys,
        values,
        named,
        encoding,
        windowing,
        timestamp_of(given, (*keys, *values), statement.place),
        is_derived=True,
        history_ms=history_of(given, statement, windowing),
        is_framed=is_framed,
        key_form=forms[0],
        value_form=forms[1],
        wanted=_topic_options(given, statement.place, is_compacted=statement.is_table and windowing is None),
        place=statement.place,
    )
    if not statement.query.standard:
        places = supported.places_of(statement.query)
        supported.check_source(source, supported.Written(places, given, statement.place))
    return source


def _written(topic: str, encoding: Encoding, writers: Iterable[Source]) -> tuple[tuple[Named, ...], tuple[Named, ...]]:
    """Return the key and value columns of the result that is written to a topic in the same formats."""
    keys: tuple[Named, ...] = ()
    values: tuple[Named, ...] = ()
    for writer in writers:
        if writer.topic == topic:
            keys = writer.keys if writer.encoding.key == encoding.key else keys
            values = writer.values if writer.encoding.value == encoding.value else values
    return keys, values


def _topic_options(given: Options, place: Place, *, is_compacted: bool) -> Wanted:
    retention = given.get("RETENTION_MS")
    if retention is not None and is_compacted:
        raise SqlError(
            given.place_of("RETENTION_MS", place),
            "RETENTION_MS is for streams and windowed tables, the rows of another table stay: leave it out",
        )
    return Wanted(
        int(given.get("PARTITIONS", 0)), int(given.get("REPLICAS", 0)), None if retention is None else int(retention)
    )


def _encoding(given: Options, settings: dict[str, str], otherwise: Encoding, place: Place) -> Encoding:
    key = otherwise.key or settings.get("ksql.persistence.default.format.key", "")
    value = otherwise.value or settings.get("ksql.persistence.default.format.value", "")
    both = str(given.get("FORMAT", ""))
    key = str(given.get("KEY_FORMAT", both or key)).upper()
    value = str(given.get("VALUE_FORMAT", both or value)).upper()
    for part, name in (("KEY_FORMAT", key), ("VALUE_FORMAT", value)):
        if name and name not in FORMATS:
            written = given.place_of(part, given.place_of("FORMAT", place))
            raise SqlError(written, f"there is no format {name}: write one of {', '.join(FORMATS)}")
    for part, name in (("KEY_DELIMITER", key), ("VALUE_DELIMITER", value)):
        if part in given and name != "DELIMITED":
            raise SqlError(
                given.place_of(part, place), f"{part} is for DELIMITED, the format is {name or 'KAFKA'}: leave it out"
            )
    default = {"true": True, "false": False}.get(settings.get("ksql.persistence.wrap.single.values", "").lower())
    wraps = given.get("WRAP_SINGLE_VALUE", default if otherwise.wraps is None else otherwise.wraps)
    return Encoding(
        key,
        value,
        str(given.get("VALUE_DELIMITER", otherwise.delimiter)),
        None if wraps is None else bool(wraps),
        str(given.get("KEY_DELIMITER", otherwise.key_delimiter)),
    )


def _word(is_table: bool) -> str:
    return "table" if is_table else "stream"
