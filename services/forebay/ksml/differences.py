"""Differences from KSML that affect a definition, and their reasons."""

from __future__ import annotations

from collections.abc import Iterator

from forebay.ksml.definition import Definition
from forebay.ksml.document import Node
from forebay.ksml.errors import Problem
from forebay.ksml.kinds import FUNCTIONS
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY

_CHANGED = frozenset(
    {
        *("transformKey", "mapKey", "selectKey", "transformKeyValue", "map", "flatMap", "convertKey"),
        "transformKeyValueToKeyValueList",
    }
)
_JOINS = frozenset({"join", "leftJoin", "outerJoin"})
_OF_OPERATIONS = {
    **dict.fromkeys(
        ("windowByTime", "windowBySession"),
        "windows close as the clock moves, also when no record comes; KSML's wait for the next record",
    ),
    "suppress": "held results are also sent while the topic is idle; KSML waits for the next record",
    "transformMetadata": "timestamps may change here, so records are repartitioned before the next operation with "
    "state: its stream time follows from the new timestamps",
}
"""Differences that an operation always has."""


def differences(definition: Definition) -> list[Problem]:
    """Return the differences from KSML with their places, in the order of lines."""
    differences = [Problem(definition.file, node.key_line, text) for node, text in _all(definition)]
    return sorted(dict.fromkeys(differences), key=lambda problem: problem.line)


def _all(definition: Definition) -> Iterator[tuple[Node, str]]:
    for node in _stores(definition):
        yield from _of_store(node)
    for _, node in definition.section("pipelines").items():
        yield from _of_pipeline(node, definition)
    for section in ("streams", "tables", "globalTables"):
        for node in definition.section(section).values():
            yield from _of_topic(node, section)
    yield from _of_types(definition)
    functions = definition.section("functions")
    if functions:
        yield (
            next(iter(functions.values())),
            "functions run in CPython, not in a sandbox: they may open files and connections and import any package "
            "of the worker, so run only files you trust",
        )


def _stores(definition: Definition) -> Iterator[Node]:
    yield from definition.section("stores").values()
    for node in definition.root.walk():
        held = node.get("store")
        if held is not None and held.is_object:
            yield held


def _of_types(definition: Definition) -> Iterator[tuple[Node, str]]:
    """Yield the differences of types, once for each notation of keys and of values."""
    yielded: set[tuple[str, str]] = set()
    for node in definition.root.walk():
        for key in ("keyType", "valueType") if node.get("topic") is not None else ():
            notation = read_type(node, key, ANY).notation
            text = _TYPES.get((key, notation)) or _TYPES.get(("", notation))
            if text is not None and (key, notation) not in yielded:
                yielded.add((key, notation))
                yield node.value[key], text


_TYPES = {
    (
        "keyType",
        "avro",
    ): "Avro keys contain the schema's id in the registry. Keys with another id are refused, because equal "
    "keys would be in other partitions",
    ("", "xml"): "an .xsd is not read: the content of an element is text",
    ("", "jsonschema"): "plain JSON is read as well as JSON with the id of a schema before it",
}


def _of_store(node: Node) -> Iterator[tuple[Node, str]]:
    logging = node.flag("logging")
    if logging is None:
        yield node, "the store has a changelog; KSML's has none unless logging: true, and loses its rows with the disk"
    elif not logging:
        yield (
            node,
            "logging: false: the store has no changelog and begins empty whenever a worker opens its task; leave it "
            "out to keep the rows",
        )
    if node.flag("caching"):
        yield (
            node,
            "caching: true: output topics receive only the last row of a key in each commit; records of streams are "
            "not affected",
        )
    if node.flag("persistent") is False:
        yield (
            node,
            "persistent: false: rows are in memory. They survive a restart, because the store has a changelog. In "
            "KSML, they survive only with logging: true",
        )


def _of_topic(node: Node, section: str) -> Iterator[tuple[Node, str]]:
    if section == "globalTables" and node.get("timestampExtractor") is not None:
        yield (
            node.value["timestampExtractor"],
            "the rows of a global table have no times: timestampExtractor is not used",
        )
    if node.get("offsetResetPolicy") is not None:
        yield (
            node.value["offsetResetPolicy"],
            "offsetResetPolicy is not read per topic: a first start reads from --starting-offsets (earliest); later "
            "starts resume where the job stopped",
        )
    if node.get("partitioner") is not None:
        yield (
            node.value["partitioner"],
            "the partitioner is used only where the topic is written, not where it is read",
        )


def _of_pipeline(node: Node, definition: Definition) -> Iterator[tuple[Node, str]]:
    is_rekeyed = False
    for operation in node.entries("via"):
        kind = operation.string("type")
        if kind in _CHANGED:
            is_rekeyed = True
        if is_rekeyed and _uses_stores(operation, definition):
            yield (
                operation,
                "the key was changed before, so records are repartitioned before this function uses its store: KSML "
                "keeps partial values per partition here",
            )
            is_rekeyed = False
        if kind in _OF_OPERATIONS:
            yield operation, _OF_OPERATIONS[kind]
        if kind == "repartition" and operation.get("numberOfPartitions") is not None:
            words = (
                "numberOfPartitions is not used: the repartition topic has one partition per task"
                if operation.get("partitioner") is None
                else "the partitioner chooses among numberOfPartitions, which are spread over the job's tasks"
            )
            yield operation.value["numberOfPartitions"], words
        if kind == "repartition" and operation.get("partitioner") is not None:
            number = "the number of tasks" if operation.get("numberOfPartitions") is None else "numberOfPartitions"
            yield (
                operation.value["partitioner"],
                f"the partitioner receives the repartition's name and {number} as the number of partitions; the number "
                "of tasks can't be changed later",
            )
        for key in ("partitioner", "otherPartitioner") if kind in _JOINS else ():
            if operation.get(key) is not None:
                yield operation.value[key], f"{key} is not used: a join's records go where their keys belong"
        if kind in _JOINS and operation.get("foreignKeyExtractor") is not None and operation.get("table") is not None:
            yield operation, "foreignKeyExtractor counts between tables; on a stream it has no effect, as in KSML"
    if node.get("toTopicNameExtractor") is not None:
        yield (
            node.value["toTopicNameExtractor"],
            "a record goes to topics that the definition names under streams: or tables:, all others to .errors: the "
            "job asks for the rights on its topics at its start",
        )
    for branch in node.entries("branch"):
        yield from _of_pipeline(branch, definition)


def _uses_stores(node: Node, definition: Definition) -> bool:
    for _, child in node.items():
        if child.is_object and child.get("stores") is not None:
            return True
        source = definition.functions.get(child.text) if not child.is_object and not child.is_list else None
        if source is not None and FUNCTIONS[source.kind].stores and source.stores:
            return True
    return False
