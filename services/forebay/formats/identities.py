"""Identities of formats, which stores record with their rows, and the edits of formats that keep rows readable.

An identity is a JSON value. It is the same in every process and release:

- None: the encoding is unknown, and never compared.
- A text: an encoding, such as "long".
- ["by name", KIND, SHAPE]: fields are found by their names. SHAPE is a digest of the fields and their types.
- ["by name", KIND, SHAPE, {"text": DIGEST, "id": ID}]: as before, with a schema. DIGEST is the digest of the schema's
  text. SHAPE does not include parts of the schema that do not affect a key's bytes. Keys begin with ID.
- ["fields", HEAD, {NAME: TYPE}]: fields are found by their names, and each is read as its type.
- ["places", HEAD, {PLACE: [NAME, TYPE]}, COUNT]: fields are found by their positions or numbers. With a COUNT, there
  are no further fields. {"id": ID} may follow.
- ["columns", TEXT, TOPIC]: columns of SQL in this order. TOPIC identifies other rows that the format reads as well.
- ["no columns", OTHER]: rows that are not read. OTHER identifies earlier rows of another format.
- ["marked", KEY]: keys with a mark, and texts without it.
- ["key of", PART, ...]: keys that a step composes of the row texts of other keys.
- ["values of", EXPRESSION, KEY]: keys that are the values of an expression.
- ["computed from", ROWS, COLUMNS]: columns that were computed from the rows which a text describes, "" for all rows.
- ["partitioned", HOW, KEY]: keys that are not partitioned by their hash.
- ["windowed", KEY, SIZE]: keys with windows of a size.
- [WORD, PART, ...]: a format that wraps others.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from itertools import combinations
from typing import Any

Identity = Any

BY_NAME, FIELDS, PLACES, COLUMNS, _MARKED = "by name", "fields", "places", "columns", "marked"
_KEY_OF, NO_COLUMNS, WINDOWED = "key of", "no columns", "windowed"
_VALUES_OF, COMPUTED_FROM = "values of", "computed from"
PARTITIONED = "partitioned"
_TEXT = "text"
_TEXT_OF_SCHEMA, _ID = "text", "id"
_READS_ALSO = {"JSON Schema": ("JSON",)}
"""Kinds of formats by name whose rows a kind of format reads as well."""
_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "real", "double")
"""Types of numbers in the state of Spark's classes. Each type reads the values of those before it.

Kafka's formats have other names, because the bytes of one can't be read as another.
"""
_WIDER = frozenset(
    (
        *combinations(_NUMBERS, 2),
        ("bool", "int32"), ("bool", "int64"), ("enum", "int32"), ("enum", "int64"), ("int32", "int64"),
        ("uint32", "int64"), ("uint32", "uint64"), ("sint32", "sint64"),
    )
)  # fmt: skip
"""Pairs of types of numbers in state and in Protobuf. The second type of a pair reads all values of the first."""
_TEXT_LINES, _WIDER_TEXTS = "DELIMITED by", frozenset({("INTEGER", "BIGINT")})
"""Prefix of the kind of values that are lines of text, and pairs of types. The second type reads texts of the first."""
_NAMED_KEYS = ("JSON key", "JSON_SR key")
"""Kinds of keys whose bytes contain the columns' names, although stores find the columns by their places."""


class Misread(Exception):
    """Rows of one format would be misread by another. The message has a reason if the formats do not show it."""


def by_name(kind: str, shape: str = "", text: str = "", schema_id: int | None = None) -> Identity:
    """Return the identity of a format that finds fields by their names.

    Args:
        shape: Fields and their types, as text.
        text: Text of the schema. Earlier builds of 0.3 recorded its digest as the shape.
        schema_id: Id of the schema in a registry, with which the bytes begin.
    """
    details = ({_TEXT_OF_SCHEMA: _digest(text)} if text else {}) | _under(schema_id)
    return [BY_NAME, kind, _digest(shape), *([details] if details else [])]


def _under(schema_id: int | None) -> dict[str, Any]:
    return {} if schema_id is None else {_ID: schema_id}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16] if text else ""


def by_typed_name(head: str, fields: Iterable[tuple[str, Identity]]) -> Identity:
    """Return the identity of a format that finds fields by their names and reads each as its type.

    Args:
        head: Description of the rest of the encoding.
        fields: Name and type of each field.
    """
    return [FIELDS, head, dict(fields)]


def by_place(head: str, fields: Iterable[tuple[str, Identity]], schema_id: int | None = None) -> Identity:
    """Return the identity of a format with a fixed number of fields in this order.

    Args:
        head: Description of the rest of the encoding.
        fields: Name and type of each field.
        schema_id: Id of the schema in a registry, with which the bytes begin.
    """
    numbered = {str(place): [name, kind] for place, (name, kind) in enumerate(fields)}
    details = _under(schema_id)
    return [PLACES, head, numbered, len(numbered), *([details] if details else [])]


def by_number(head: str, fields: Iterable[tuple[int, str, Identity]]) -> Identity:
    """Return the identity of a format whose fields have numbers, and that ignores unknown numbers."""
    return [PLACES, head, {str(number): [name, kind] for number, name, kind in fields}, None]


def columns_of(text: str, topic: Identity = None) -> Identity:
    """Return the identity of rows with columns of SQL.

    Args:
        topic: Identity of other rows that the format reads as well.
    """
    return [COLUMNS, text, topic]


def has_columns(identity: Identity) -> bool:
    """Return whether an identity is that of rows with columns of SQL."""
    return _is_of(identity, COLUMNS)


def is_computed(identity: Identity) -> bool:
    """Return whether an identity is that of columns that are computed from some rows."""
    return _is_of(identity, COMPUTED_FROM)


NOTHING: Identity = [NO_COLUMNS, None]
"""The identity of a format that reads every row as one without columns."""


def with_mark(key: Identity) -> Identity:
    """Return the identity of keys of a store that may also have texts as keys."""
    return [_MARKED, key]


def windowed_keys(key: Identity, size: str | None = None) -> Identity:
    """Return the identity of keys with windows.

    Args:
        size: Size of the windows. None: the store records it with its windows.
    """
    return [WINDOWED, key, size]


def is_marked(identity: Identity) -> bool:
    """Return whether an identity is that of keys with a mark."""
    return _is_of(identity, _MARKED)


def key_of(*parts: Identity) -> Identity:
    """Return the identity of keys that a step composes.

    Args:
        parts: Identities of the keys of whose row texts they consist, in order.
    """
    return [_KEY_OF, *parts]


def values_of(expression: str, key: Identity) -> Identity:
    """Return the identity of keys that are the values of an expression of the rows."""
    return [_VALUES_OF, expression, key]


def computed_from(rows: str, columns: Identity) -> Identity:
    """Return the identity of columns that are computed from some rows.

    Args:
        rows: How the rows are computed. "" for all rows of a stored table.
    """
    return [COMPUTED_FROM, rows, columns]


def partitioned_keys(how: str, key: Identity) -> Identity:
    """Return the identity of keys that are not partitioned by their hash."""
    return [PARTITIONED, how, key]


def merge_identities(recorded: Identity, declared: Identity, *, is_key: bool = False) -> Identity:
    """Return the identity of rows of both formats, which the declared format can read.

    It equals `recorded` if the edit changes nothing. Stores record the result and not the declared format, because
    formats after further edits must be able to read the earlier rows, too.

    Args:
        is_key: Whether rows are found by the encoded text, so that the declared format must also write the same bytes.

    Raises:
        Misread: The declared format can't read the rows.
    """
    return _Merge(is_key).merge(recorded, declared)


class _Merge:
    def __init__(self, is_key: bool) -> None:
        self._is_key = is_key

    def merge(self, recorded: Identity, declared: Identity) -> Identity:
        if recorded is None or declared is None or recorded == declared:
            return declared
        if has_columns(declared):
            return self._merge_columns(recorded, declared)
        if _how_partitioned(recorded) != _how_partitioned(declared):
            raise Misread("keys that are partitioned in another way are in other tasks")
        # Earlier builds of 0.3 recorded composed keys as texts.
        if recorded == _TEXT and isinstance(declared, list) and declared[0] in (_MARKED, _KEY_OF):
            return declared
        for head in (_VALUES_OF, COMPUTED_FROM):
            if _is_of(declared, head) and not _is_of(recorded, head):
                # Earlier builds of 0.3 recorded no expressions.
                return [head, declared[1], self.merge(recorded, declared[2])]
        if declared == NOTHING:
            return recorded if _is_of(recorded, NO_COLUMNS) else [NO_COLUMNS, recorded]
        if _is_of(recorded, NO_COLUMNS):
            # Rows without columns were written as empty objects of JSON.
            return self.merge(recorded[1], self.merge(by_name("JSON"), declared))
        if isinstance(recorded, list) and isinstance(declared, list) and recorded[0] == declared[0]:
            return self._merge_lists(recorded, declared)
        # Earlier builds of 0.3 recorded only the kind of the format of views.
        is_of_a_view = _is_of(recorded, BY_NAME) and _is_of(declared, FIELDS) and recorded[1] == declared[1]
        if is_of_a_view or (str(recorded), str(declared)) in _WIDER:
            return declared
        raise Misread

    def _merge_columns(self, recorded: Identity, declared: list[Any]) -> Identity:
        _, text, topic = declared
        if not has_columns(recorded):
            if topic is None:
                raise Misread
            return [COLUMNS, text, self.merge(recorded, topic)]
        if recorded[1] != text:
            raise Misread
        return [COLUMNS, text, recorded[2] if topic is None else self.merge(recorded[2], topic)]

    def _merge_lists(self, recorded: list[Any], declared: list[Any]) -> Identity:
        head, kind, *rest = declared
        if self._is_key:
            _check_ids(_details(recorded).get(_ID), _details(declared).get(_ID))
        if head == BY_NAME:
            if recorded[1] != kind and recorded[1] not in _READS_ALSO.get(kind, ()):
                raise Misread
            if self._is_key and not (recorded[1] == kind and _is_shaped_alike(recorded, declared)):
                raise Misread("other fields would change the bytes of the same key")
            return declared
        if head == FIELDS:
            if recorded[1] != kind:
                raise Misread
            (types_before, (types_now,)) = recorded[2], rest
            merged = {name: self.merge(types_before.get(name), now) for name, now in types_now.items()}
            return [FIELDS, kind, types_before | merged]
        if head == PLACES:
            fields, count, *details = rest
            if (recorded[1], recorded[3]) != (kind, count):
                raise Misread
            merged = self._merge_places(kind, recorded[2], fields, has_numbers=count is None)
            return [PLACES, kind, merged, count, *details]
        if head == WINDOWED and len(recorded) < len(declared):
            recorded = [*recorded, None]  # Earlier builds of 0.3 recorded no size.
        if len(recorded) != len(declared):
            raise Misread
        return [head, *(self.merge(*parts) for parts in zip(recorded[1:], declared[1:], strict=True))]

    def _merge_places(
        self, head: str, recorded: dict[str, Any], declared: dict[str, Any], *, has_numbers: bool
    ) -> dict[str, Any]:
        before = {name: place for place, (name, _) in recorded.items()}
        merged = dict(recorded)
        for place, (name, kind) in declared.items():
            # A field may be renamed, but two fields that changed places would be mistaken for each other.
            if before.get(name, place) != place:
                if not has_numbers:
                    raise Misread(f"{name} has another place")
                raise Misread(
                    f"the field {name} had the number {before[name]}: keep it, or give the field another name"
                )
            former, former_kind = recorded.get(place, (name, kind))
            if name != former and head in _NAMED_KEYS:
                raise Misread(f"the column {former} is {name} now, and keys with another name are in other partitions")
            if head.startswith(_TEXT_LINES) and (former_kind, kind) in _WIDER_TEXTS:
                former_kind = kind
            merged[place] = [name, self.merge(former_kind, kind)]
        return merged


def _how_partitioned(identity: Identity) -> str:
    return str(identity[1]) if _is_of(identity, PARTITIONED) else ""


def _details(identity: list[Any]) -> dict[str, Any]:
    """Return the recorded details of the schema that describes a format's bytes."""
    has_details = identity[0] in (BY_NAME, PLACES) and isinstance(identity[-1], dict)
    return identity[-1] if has_details else {}


def _check_ids(before: int | None, now: int | None) -> None:
    # Earlier builds of 0.3 recorded no ids.
    if before != now and None not in (before, now):
        raise Misread(
            f"the keys' schema had the id {before}, and has {now}: the id is a part of a key's bytes, and keys with "
            "another id are in other partitions"
        )


def _is_shaped_alike(recorded: list[Any], declared: list[Any]) -> bool:
    if recorded[2] == declared[2]:
        return True
    return not _details(recorded) and recorded[2] == _details(declared).get(_TEXT_OF_SCHEMA)


def reads_alike(recorded: Identity, declared: Identity) -> bool:
    """Return whether a format reads all values of another without a check, because only wording differs."""
    if not (_is_of(declared, BY_NAME) and _is_of(recorded, BY_NAME)):
        return bool(recorded == declared)
    return bool(recorded[1] == declared[1]) and _is_shaped_alike(recorded, declared)


def _is_of(identity: Identity, word: str) -> bool:
    return isinstance(identity, list) and identity[0] == word
