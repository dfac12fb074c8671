"""Names of the stores of operations (inline or under stores:) and of the results of pipelines."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.ksml.build import Build
from forebay.ksml.document import Node
from forebay.ksml.stores import StoreSpec, kept_as, read_store
from forebay.ksml.types import ANY, STRING, Type

OTHER_SIDES = ("stream", "table", "globalTable")
"""The keys of the other side of a join or merge."""
SECTIONS = tuple(f"{side}s" for side in OTHER_SIDES)
"""The sections that define the sources of pipelines, in the order in which a name is looked up."""


def store_of(build: Build, node: Node, key: str, wanted: str, value: Type = ANY) -> StoreSpec:
    """Return the store of an operation. A store without a name gets a generated name.

    Args:
        wanted: base of the generated name if the node has no name.
    """
    child = node.get(key)
    if child is None:
        name = build.name(node.string("name") or f"{wanted}-{node.key_line}")
        return StoreSpec(name, node, "keyValue", STRING, value)
    if child.is_object:
        spec = read_store(child, node.string("name") or f"{wanted}-{node.key_line}")
        return spec if child.get("name") else spec._replace(name=kept_as(child, build.name(spec.name)))
    return build.definition.store(child.text, child)


def name_of_store(operation: Node) -> str:
    """Return the name of the store in which an operation keeps its rows; "" if it names none."""
    store = operation.get("store")
    return "" if store is None else store.string("name") if store.is_object else store.text


def results_of(pipelines: Mapping[str, Node]) -> dict[str, str]:
    """Return the pipelines by the names of their results: their own names, and those of `as:`."""
    results: dict[str, str] = {}
    for name, node in pipelines.items():
        results.setdefault(name, name)
        for element in (node, *_branches(node)):
            if element.string("as"):
                results.setdefault(element.string("as"), name)
    return results


def references_of(pipeline: Node) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of a pipeline's sources, and the sections in which each is looked up before results."""
    named = [(pipeline.get("from"), SECTIONS)]
    for element in (pipeline, *_branches(pipeline)):
        for operation in element.entries("via"):
            named += [(operation.get(key), (f"{key}s",)) for key in OTHER_SIDES]
    return [(node.text, sections) for node, sections in named if node is not None and not node.is_object]


def _branches(node: Node) -> list[Node]:
    nodes = node.entries("branch")
    return [branch for node in nodes for branch in (node, *_branches(node))]
