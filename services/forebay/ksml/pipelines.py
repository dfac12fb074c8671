"""Pipelines of a definition as nodes of a topology."""

from __future__ import annotations

from collections.abc import Callable

from forebay.ksml import ends, groups, joins, stateless, tables
from forebay.ksml.build import Build, locate_errors
from forebay.ksml.document import Node
from forebay.ksml.naming import name_of_store, references_of, results_of, store_of
from forebay.ksml.partitions import chosen_partitions
from forebay.ksml.pipeline_values import NAMES, GroupedPiece, GroupedTablePiece, Piece, StreamPiece, TablePiece
from forebay.ksml.sources import Sources, isolate
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY, Type


class Pipelines:
    """Builds the pipelines of a definition, each after its sources."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._sources = Sources(build)
        self._results: dict[str, Piece] = {}
        self._making: list[str] = []
        self._made: set[str] = set()
        self._giving = results_of(build.definition.section("pipelines"))
        build.find_table = self._make_holder

    def make(self) -> None:
        """Build all pipelines. Raises KsmlError."""
        for name, node in self._build.definition.section("pipelines").items():
            self._pipeline(name, node)

    def _pipeline(self, name: str, node: Node) -> None:
        if name in self._made:
            return
        # Pipelines are built on demand in any order, so a cycle would otherwise recurse without end.
        if name in self._making:
            circle = " -> ".join((*self._making[self._making.index(name) :], name))
            raise node.refuse(f"the pipelines {circle} form a cycle: let one of them read a stream")
        self._making.append(name)
        piece = locate_errors(self._build, node, lambda: self._source(node.value["from"]))
        self._results.setdefault(name, self._flow(node, piece))
        self._making.remove(name)
        self._made.add(name)

    def _make_holder(self, store: str) -> None:
        """Read the table, or build the pipeline, whose rows are in a store, so that functions find the store."""
        self._sources.holding(store)
        for name, node in self._build.definition.section("pipelines").items():
            is_holder = any(name_of_store(operation) == store for operation in node.walk())
            if is_holder and not self._waits_for_this(name):
                self._pipeline(name, node)

    def _waits_for_this(self, name: str) -> bool:
        """Return whether a pipeline reads, directly or indirectly, from a pipeline that is being built."""
        pipelines, waiting, seen = self._build.definition.section("pipelines"), [name], set[str]()
        while waiting:
            name = waiting.pop()
            if name in self._making:
                return True
            if name not in seen:
                seen.add(name)
                references = references_of(pipelines[name])
                waiting += [self._giving[text] for text, sections in references if self._is_result(text, sections)]
        return False

    def _is_result(self, name: str, sections: tuple[str, ...]) -> bool:
        """Return whether a name is that of a result, and not of a stream or table, which take precedence."""
        definition = self._build.definition
        return name in self._giving and not any(name in definition.section(section) for section in sections)

    def _source(self, node: Node) -> Piece:
        if node.is_object:
            return self._sources.read(node, f"source-{node.key_line}", "streams")
        piece = self._sources.find(node) or self._result(node)
        if piece is None:
            raise node.refuse(f"there is no stream, table or pipeline {node.text!r}: define it under streams:")
        return piece

    def _result(self, node: Node) -> Piece | None:
        giving = self._giving.get(node.text)
        if giving is not None:
            self._pipeline(giving, self._build.definition.section("pipelines")[giving])
        return self._results.get(node.text)

    def _flow(self, node: Node, piece: Piece) -> Piece:
        for operation in node.entries("via"):
            piece = locate_errors(self._build, operation, lambda op=operation, piece=piece: self._operation(op, piece))  # type: ignore[misc]
        locate_errors(self._build, node, lambda: self._end(node, piece))
        return piece

    def _end(self, node: Node, piece: Piece) -> None:
        if (result := node.string("as")) != "":
            self._results[result] = piece
            match piece:
                case (
                    StreamPiece(stream=part)
                    | TablePiece(table=part)
                    | GroupedPiece(grouped=part)
                    | GroupedTablePiece(grouped=part)
                ):
                    # Each pipeline that reads the result must fail separately, as if it read a topic.
                    isolate(part.node)
        endings = [key for key in ("to", "toTopicNameExtractor", "forEach", "print", "branch") if node.get(key)]
        if not endings:
            return
        stream = self._stream(node, piece, endings[0])
        if (to := node.get("to")) is not None:
            locate_errors(self._build, to, lambda: ends.to_topic(self._build, to, stream))
        if (chosen := node.get("toTopicNameExtractor")) is not None:
            ends.to_chosen(self._build, chosen, stream)
        if (action := node.get("forEach")) is not None:
            stateless.for_each(self._build, action, stream)
        if (shown := node.get("print")) is not None:
            ends.print_records(self._build, shown, stream)
        nodes = node.entries("branch")
        for branch, piece_of_branch in zip(
            nodes, ends.branches(self._build, nodes, stream) if nodes else (), strict=True
        ):
            self._flow(branch, piece_of_branch)

    @staticmethod
    def _stream(node: Node, piece: Piece, what: str) -> StreamPiece:
        if isinstance(piece, TablePiece):
            return tables.to_stream(piece)
        if isinstance(piece, StreamPiece):
            return piece
        raise node.value[what].refuse(f"{what} takes a stream, but this is {NAMES[type(piece)]}: aggregate it before")

    def _operation(self, node: Node, piece: Piece) -> Piece:
        kind = node.string("type")
        if kind in ("join", "leftJoin", "outerJoin"):
            section, other = joins.other_of(node)
            return joins.join_pieces(self._build, node, piece, self._other(other, f"{section}s", piece))
        if kind == "merge":
            if not isinstance(piece, StreamPiece):
                raise _unfit(node, piece, "a stream")
            return joins.merge_streams(self._build, node, piece, self._other(node.value["stream"], "streams", piece))
        if isinstance(piece, StreamPiece):
            return self._of_stream(node, kind, piece)
        if isinstance(piece, TablePiece):
            return self._of_table(node, kind, piece)
        if isinstance(piece, GroupedPiece):
            return self._of_groups(node, kind, piece)
        if isinstance(piece, GroupedTablePiece):
            return self._of_table_groups(node, kind, piece)
        raise _unfit(node, piece, "a stream or a table")

    def _other(self, node: Node, section: str, piece: Piece) -> Piece:
        if node.is_object:
            return self._sources.read(node, f"other-{node.key_line}", section, piece.key, piece.value)
        other = self._sources.find(node, (section,)) or self._result(node)
        if other is None:
            raise node.refuse(f"there is no {section[:-1]} {node.text!r}: define it under {section}:")
        return other

    def _of_stream(self, node: Node, kind: str, piece: StreamPiece) -> Piece:
        operation = _OF_STREAMS.get(kind)
        if operation is not None:
            return operation(self._build, node, piece)
        if kind == "repartition":
            return self._repartition(node, piece)
        if kind == "toTable":
            return self._to_table(node, piece)
        raise _unfit(node, piece, _WANTED.get(kind, "a table"))

    def _to_table(self, node: Node, piece: StreamPiece) -> Piece:
        store = store_of(self._build, node, "store", "table", piece.value)
        table = piece.stream.to_table(store=store.name, history_retention_ms=store.history_ms)
        self._build.keep(store.name, store._replace(key=piece.key, value=piece.value), table.node)
        return TablePiece(piece.key, piece.value, table)

    def _repartition(self, node: Node, piece: StreamPiece) -> Piece:
        name = self._build.name(node.string("name") or f"repartition-{node.key_line}")
        held = node.get("partitioner")
        if held is None:
            return StreamPiece(piece.key, piece.value, piece.stream.repartition(name))
        count = node.get("numberOfPartitions")
        partitions = 0 if count is None else int(count.value)
        if count is not None and partitions < 1:
            raise count.refuse(f"numberOfPartitions is {partitions}: write a whole number from 1, or leave it out")
        stream, partition = chosen_partitions(self._build, held, piece, lambda: name, partitions)
        repartitioned_stream = stream.repartition(name, partitioner=partition, partitions=partitions)
        return StreamPiece(piece.key, piece.value, repartitioned_stream)

    def _of_table(self, node: Node, kind: str, piece: TablePiece) -> Piece:
        build = self._build
        match kind:
            case "filter" | "filterNot":
                return tables.filter_rows(build, node, piece, passes=kind == "filter")
            case "mapValue" | "mapValues" | "transformValue":
                return tables.value_mapped(build, node, piece)
            case "convertValue":
                return tables.convert_rows(build, node, piece, _into(node))
            case "groupBy":
                return tables.group_rows(build, node, piece)
            case "suppress":
                return tables.suppress_rows(build, node, piece)
            case "toStream":
                stream = tables.to_stream(piece)
                return stream if node.get("mapper") is None else stateless.key_mapped(build, node, stream)
            case "toTable":
                return piece
            case _ if kind in _WANTED:
                raise _unfit(node, piece, _WANTED[kind])
            case _:
                return self._of_stream(node, kind, tables.to_stream(piece))

    def _of_groups(self, node: Node, kind: str, piece: GroupedPiece) -> Piece:
        match kind:
            case "windowByTime":
                return groups.in_time(node, piece)
            case "windowBySession":
                return groups.in_sessions(node, piece)
            case "cogroup":
                return groups.cogroup_records(self._build, node, piece)
            case "count":
                return groups.count_records(self._build, node, piece)
            case "reduce":
                return groups.reduce_records(self._build, node, piece)
            case "aggregate":
                return groups.aggregate_records(self._build, node, piece)
            case _:
                raise _unfit(node, piece, _WANTED.get(kind, "a stream or a table"))

    def _of_table_groups(self, node: Node, kind: str, piece: GroupedTablePiece) -> Piece:
        match kind:
            case "count":
                return tables.count_rows(self._build, node, piece)
            case "reduce":
                return tables.reduce_rows(self._build, node, piece)
            case "aggregate":
                return tables.aggregate_rows(self._build, node, piece)
            case _:
                raise _unfit(node, piece, _WANTED.get(kind, "a stream or a table"))


def _converted_key(build: Build, node: Node, piece: StreamPiece) -> Piece:
    return stateless.convert_records(build, node, piece, _into(node), None)


def _converted_value(build: Build, node: Node, piece: StreamPiece) -> Piece:
    return stateless.convert_records(build, node, piece, None, _into(node))


def _converted_both(build: Build, node: Node, piece: StreamPiece) -> Piece:
    pair = _into(node)
    if pair.kind != "tuple" or len(pair.parts) != 2:
        raise node.refuse("convertKeyValue takes two types: write into: (string, json), for example")
    return stateless.convert_records(build, node, piece, *pair.parts)


_OF_STREAMS: dict[str, Callable[[Build, Node, StreamPiece], Piece]] = {
    "filter": lambda build, node, piece: stateless.filter_records(build, node, piece, passes=True),
    "filterNot": lambda build, node, piece: stateless.filter_records(build, node, piece, passes=False),
    "peek": stateless.peek_records,
    **dict.fromkeys(("mapValue", "mapValues", "transformValue"), stateless.value_mapped),
    **dict.fromkeys(("mapKey", "selectKey", "transformKey"), stateless.key_mapped),
    **dict.fromkeys(("map", "transformKeyValue"), stateless.both_mapped),
    **dict.fromkeys(("flatMap", "transformKeyValueToKeyValueList"), stateless.flat_mapped),
    **dict.fromkeys(("flatMapValues", "transformKeyValueToValueList"), stateless.values_flat_mapped),
    "transformMetadata": stateless.metadata_mapped,
    "convertKey": _converted_key,
    "convertValue": _converted_value,
    "convertKeyValue": _converted_both,
    "groupBy": groups.by_function,
    "groupByKey": lambda _build, _node, piece: groups.by_key(piece),
}
"""Operations on all streams."""

_WANTED = {
    "windowByTime": "a grouped stream",
    "windowBySession": "a grouped stream",
    "cogroup": "a grouped stream",
    "count": "a grouped stream or table",
    "reduce": "a grouped stream or table",
    "aggregate": "a grouped stream or table",
    "suppress": "a table",
    "toStream": "a table",
}


def _unfit(node: Node, piece: Piece, wanted: str) -> Exception:
    remedy = "put groupByKey before" if "grouped" in wanted else "put toStream, toTable or an aggregate before"
    return node.refuse(f"{node.string('type')} takes {wanted}, but this is {NAMES[type(piece)]}: {remedy}")


def _into(node: Node) -> Type:
    return read_type(node, "into", ANY)
