"""Conversion of a definition's state stores to those of the engine."""

from __future__ import annotations

from typing import Any, NamedTuple

from forebay.builder.nodes import Kind, Node
from forebay.formats import Format
from forebay.ksml.document import Node as Text
from forebay.ksml.durations import duration
from forebay.ksml.formats import Formats
from forebay.ksml.schemas import OF_SUBJECT
from forebay.ksml.types import ANY, REGISTERED, STRING, Type, UnknownType, parse_type
from forebay.stores import (
    KeyValueStore,
    Materialized,
    SessionStore,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from forebay.stores.binding import Store
from forebay.stores.window_reads import Duplicates

_DAY_MS = 86_400_000


class StoreSpec(NamedTuple):
    """A store of a definition.

    Args:
        text: its node in the definition.
        kind: keyValue, window or session.
        key, value: types of keys and values; ANY: the operation determines the type.
    """

    name: str
    text: Text
    kind: str
    key: Type
    value: Type

    @property
    def history_ms(self) -> int | None:
        """The retention of versions in ms; None: the store has no versions."""
        if not self.text.flag("versioned"):
            return None
        return duration(self.text, "historyRetention", _DAY_MS)

    @property
    def retention_ms(self) -> int:
        """The retention of windows and sessions in ms; 0: the operation determines it."""
        return duration(self.text, "retention", 0) or 0


def read_store(text: Text, name: str, kind: str = "keyValue") -> StoreSpec:
    """Return a store of the definition. Raises KsmlError."""
    return StoreSpec(
        kept_as(text, text.string("name") or name),
        text,
        text.string("type") or kind,
        read_type(text, "keyType", STRING),
        read_type(text, "valueType", ANY),
    )


def kept_as(text: Text, name: str) -> Materialized:
    """Return the name and options of a store.

    Rows always survive restarts, so `persistent: true` leaves the choice to the job. Versioned stores have no cache.
    """
    return Materialized(
        name,
        caching=None if text.flag("versioned") else text.flag("caching"),
        logging=text.flag("logging") is not False,
        persistent=False if text.flag("persistent") is False else None,
    )


def read_type(text: Text, key: str, default: Type) -> Type:
    """Return the type under a key. Raises KsmlError."""
    child = text.get(key)
    if child is None:
        return default
    try:
        kind = parse_type(child.text)
    except UnknownType as error:
        raise child.refuse(str(error)) from error
    # A notation without a name means the latest schema of the topic's subject.
    if kind.notation in REGISTERED and kind == Type("struct", kind.notation) and text.get("topic") is not None:
        side = "key" if key == "keyType" else "value"
        return kind._replace(name=f"{OF_SUBJECT}{text.string('topic')}-{side}")
    return kind


def declare_store(spec: StoreSpec, formats: Formats) -> Store[Any]:
    """Return the engine's declaration of a store that functions use. Raises KsmlError."""
    value = formats.of(spec.value)
    alone = kept_as(spec.text, spec.name)
    alone.caching = None  # a cache is for rows that are sent
    try:
        return _declare(spec._replace(name=alone), value)
    except ValueError as error:
        raise spec.text.refuse(str(error)) from error


def _declare(spec: StoreSpec, value: Format[Any]) -> Store[Any]:
    if spec.kind == "session":
        return SessionStore(spec.name, value, retention_ms=spec.retention_ms or _DAY_MS)
    if spec.kind == "window":
        size = duration(spec.text, "windowSize", 0) or 1
        duplicates = Duplicates.KEEP if spec.text.flag("retainDuplicates") else Duplicates.REPLACE
        # A window store refuses a retention below its window size.
        retention = max(spec.retention_ms or _DAY_MS, size)
        return WindowStore(spec.name, value, size_ms=size, retention_ms=retention, duplicates=duplicates)
    if spec.history_ms is not None:
        return VersionedKeyValueStore(spec.name, value, history_retention_ms=spec.history_ms)
    if spec.text.flag("timestamped"):
        return TimestampedKeyValueStore(spec.name, value)
    return KeyValueStore(spec.name, value)


def store_node(spec: StoreSpec, formats: Formats) -> Node:
    """Return the node that holds a store of functions, so that the functions run in the same task."""
    return Node(
        Kind.STEP,
        f"store {spec.name}",
        formats.of(spec.key),
        formats.of(spec.value),
        stores=(declare_store(spec, formats),),
        where=f"{spec.text.file}:{spec.text.key_line}",
    )
