"""The stores of operations: named, written where they are used, or neither."""

from __future__ import annotations

from forebay.ksml.build import Build
from forebay.ksml.document import Node
from forebay.ksml.stores import StoreSpec, kept_as, read_store
from forebay.ksml.types import ANY, STRING, Type


def store_of(build: Build, node: Node, key: str, wanted: str, value: Type = ANY) -> StoreSpec:
    """Return the store of an operation; one that has no name gets one of its own.

    Args:
        wanted: what the name is made of if the node has no name.
    """
    child = node.get(key)
    if child is None:
        name = build.name(node.string("name") or f"{wanted}-{node.key_line}")
        return StoreSpec(name, node, "keyValue", STRING, value)
    if child.is_object:
        spec = read_store(child, node.string("name") or f"{wanted}-{node.key_line}")
        return spec if child.get("name") else spec._replace(name=kept_as(child, build.name(spec.name)))
    return build.definition.store(child.text, child)
