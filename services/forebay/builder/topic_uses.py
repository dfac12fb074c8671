"""Checks that two nodes can use the same topic: writers have one format, and readers can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay.builder.nodes import Node

_REMEDY = "read it as it is written and map the records, or use two topics"


def problem_of_writers(topic: str, one: Node, other: Node) -> str:
    """Return the reason why two nodes can't both write a topic; "" if they can."""
    if _is_same(one, other):
        return ""
    return (
        f"topic {topic} is written with {one.key} keys and {one.value} values at {one.where}, and with {other.key} "
        f"keys and {other.value} values here: map them to one record, or use two topics"
    )


def problem_of_reader(topic: str, reader: Node, writer: Node, latest: Node) -> str:
    """Return the reason why a node can't read a topic that another node writes; "" if it can.

    Args:
        latest: The node of the two that was declared last.
    """
    if reader.key.reads(writer.key) and reader.value.reads(writer.value):
        return ""
    read, written = (f"{node.key} keys and {node.value} values {_at(node, latest)}" for node in (reader, writer))
    return f"topic {topic} is read as {read}, and written as {written}: {_REMEDY}"


def _at(node: Node, latest: Node) -> str:
    return "here" if node is latest else f"at {node.where}"


def _is_same(one: Node, other: Node) -> bool:
    return one.key.is_same(other.key) and one.value.is_same(other.value)
