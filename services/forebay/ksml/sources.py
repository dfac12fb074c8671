"""The sources of pipelines: streams and tables of a definition, each read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.nodes import Node as GraphNode
from forebay.ksml.build import Build
from forebay.ksml.document import Node
from forebay.ksml.naming import SECTIONS, store_of
from forebay.ksml.partition_times import PartitionTimes
from forebay.ksml.pipeline_values import GlobalPiece, Piece, StreamPiece, TablePiece
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY, STRING, Type
from forebay.ksml.values import giver_of, plain
from forebay.processor.messages import Message


class Sources:
    """The topics that a definition reads, as pieces."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._made: dict[tuple[str, str], Piece] = {}
        self._places: dict[tuple[str, str], Node] = {}

    def find(self, node: Node, sections: tuple[str, ...] = SECTIONS) -> Piece | None:
        """Return the stream or table that a node names; None if the name is unknown."""
        for section in sections:
            declaration = self._build.definition.section(section).get(node.text)
            if declaration is not None:
                return self.read(declaration, node.text, section)
        return None

    def holding(self, store: str) -> None:
        """Read the table whose store has a name, or that has the name itself if no such store is defined."""
        is_store = store in self._build.definition.stores
        for section in ("tables", "globalTables"):
            for name, node in self._build.definition.section(section).items():
                held = node.get("store")
                own = "" if held is None else held.string("name") if held.is_object else held.text
                if store == own or (store == name and not is_store):
                    self.read(node, name, section)
                    self._build.alias(store, own or f"{name}-store")

    def read(self, node: Node, name: str, section: str, key: Type = STRING, value: Type = ANY) -> Piece:
        """Return the stream or table of a topic. Add it to the topology if necessary.

        Args:
            key, value: types if the definition leaves them out.
        """
        topic = node.string("topic")
        key, value = read_type(node, "keyType", key), read_type(node, "valueType", value)
        piece = self._made.get((section, topic))
        if piece is None:
            piece = self._made[section, topic] = self._read(node, name, section, key, value)
            self._places[section, topic] = node
        for word, wanted, there in (("keyType", key, piece.key), ("valueType", value, piece.value)):
            if node.get(word) is not None and wanted not in (ANY, there):
                other = self._places[section, topic]
                raise node.refuse(
                    f"the {word} of topic {topic} is {wanted} here and {there} at {other.file}:{other.key_line}: read "
                    "it as one type, and convert it in a pipeline"
                )
        if section != "globalTables":
            self._check_extractor(node, self._places[section, topic])
        return piece

    def _check_extractor(self, node: Node, other: Node) -> None:
        """Refuse a second timestamp extractor for a topic, because its records are read once, with one timestamp."""
        here, there = (place.get("timestampExtractor") for place in (node, other))
        if (here and here.text.split()) != (there and there.text.split()):
            raise (here or node).refuse(
                f"topic {node.string('topic')} has another timestampExtractor at {other.file}:{other.key_line}, or one "
                "of the two places has none: write the same one in both"
            )

    def _read(self, node: Node, name: str, section: str, key: Type, value: Type) -> Piece:
        build, topic = self._build, node.string("topic")
        values, keys = build.format(value, node), build.key_format(key, node)
        extract = None if section == "globalTables" else self._extractor(node, key, value)
        if section == "streams":
            stream = build.topology.stream(topic, values, key=keys, extract=extract)
            isolate(stream.node)
            return StreamPiece(key, value, stream)
        store = store_of(build, node, "store", f"{name}-store", value)
        if node.get("store") is None:
            store = store._replace(name=build.name(f"{name}-store"))
        typed = store._replace(key=key, value=value)
        if section == "globalTables":
            whole = build.topology.global_table(topic, values, key=keys, store=store.name)
            build.keep(store.name, typed, whole.node)
            return GlobalPiece(key, value, whole)
        history = store.history_ms
        table = build.topology.table(
            topic, values, key=keys, store=store.name, history_retention_ms=history, extract=extract
        )
        isolate(table.node)
        build.keep(store.name, typed, table.node)
        return TablePiece(key, value, table)

    def _extractor(self, node: Node, key: Type, value: Type) -> _Extractor | None:
        held = node.get("timestampExtractor")
        if held is None:
            return None
        build = self._build
        source = build.function(held, "timestampExtractor")
        return _Extractor(build.call(source), build.formats.of(key).of_row, giver_of(value) or _same)


class _Extractor:
    """A timestamp extractor, which receives the partition time before each record.

    Args:
        call: the extractor's function.
        of_row: returns the key of a row text.
        give: returns the copy of a value that the function receives.
    """

    def __init__(
        self, call: Callable[..., Any], of_row: Callable[[str], Any] | None, give: Callable[[Any], Any]
    ) -> None:
        self._call = call
        self._of_row = of_row
        self._give = give
        self._times = PartitionTimes()
        self.resume_after_commit = self._times.resume_after_commit

    def __call__(self, message: Message, text: Any, found: Any) -> int:
        kind, at = message.timestamp()
        partition, offset = message.partition(), message.offset()
        record = {
            "timestamp": at,
            "timestampType": "LogAppendTime" if kind == 2 else "CreateTime",
            "key": None if text is None or self._of_row is None else plain(self._of_row(text)),
            "value": None if found is None else self._give(found),
            "topic": message.topic(),
            "partition": partition,
            "offset": offset,
        }
        timestamp: int = self._call(record, self._times.before(partition, offset))
        self._times.advance(partition, offset, timestamp)
        return timestamp


def isolate(node: GraphNode) -> None:
    """Make the pipelines after a node fail independently of each other, as in KSML."""
    object.__setattr__(node, "isolates", True)


def _same(value: Any) -> Any:
    return value
