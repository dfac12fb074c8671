"""Checks of test suites by the rules of KSML's test runner, before their definition is read."""

from __future__ import annotations

import re

from forebay.ksml.document import Node

_IDENTIFIER = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
SUITE = frozenset({"name", "definition", "schemaDirectory", "moduleDirectory", "streams", "tests"})
_STREAM = frozenset({"topic", "keyType", "valueType"})
_TEST = frozenset({"description", "produce", "assert"})
_PRODUCE = frozenset({"to", "messages", "generator", "count"})
_ASSERT = frozenset({"on", "stores", "code"})
_TEXTS = ("name", "code", "expression", "globalCode", "resultType")
"""Keys of a generator with text values."""


def check_suite(root: Node) -> None:
    """Raise KsmlError for a suite that KSML's test runner refuses."""
    check_keys(root, SUITE, "a test suite", ("definition", "streams", "tests"))
    streams = _entries(root, "streams")
    topics: dict[str, str] = {}
    for name, node in streams.items():
        check_keys(node, _STREAM, f"the stream {name}", ("topic",))
        if topics.setdefault(node.string("topic"), name) != name:
            raise node.refuse(f"{node.string('topic')} is the topic of two streams: keep one of them")
    for name, test in _entries(root, "tests").items():
        check_keys(test, _TEST, f"the test {name}", ("produce", "assert"))
        for key in ("produce", "assert"):
            if not test.value[key].is_list:
                raise test.value[key].refuse(f"{key} of the test {name} is not a list: begin each block with -")
        for block in test.entries("produce"):
            _check_produce(block, streams)
        for block in test.entries("assert"):
            _check_assert(block, streams)


def _entries(root: Node, key: str) -> dict[str, Node]:
    """Return the entries of a section, whose names must be identifiers. Raises KsmlError."""
    entries = root.children(key)
    if not entries:
        raise root.refuse(f"a test suite has no {key}: add {key}:")
    for name, node in entries.items():
        if not _IDENTIFIER.fullmatch(name):
            raise node.refuse(f"{name!r} can't be a name under {key}: write letters, digits and _, with a letter first")
        if not node.is_object:
            raise node.refuse(f"{name} under {key} is not a mapping: write its keys below it")
    return entries


def _check_produce(block: Node, streams: dict[str, Node]) -> None:
    check_keys(block, _PRODUCE, "a produce block", ("to",))
    _check_stream(block, "to", streams)
    if (block.get("messages") is None) == (block.get("generator") is None):
        raise block.refuse("a produce block has messages: or generator:, one of them")
    generator = block.get("generator")
    if generator is None:
        return
    if not generator.is_object:
        raise generator.refuse("generator is not a mapping: write code: or expression: below it")
    for key in _TEXTS:
        child = generator.get(key)
        if child is not None and not isinstance(child.value, str):
            raise child.refuse(f"{key} of a generator is {child.text}, which is not text: put it in quotes")


def _check_assert(block: Node, streams: dict[str, Node]) -> None:
    check_keys(block, _ASSERT, "an assert block", ("code",))
    if block.get("on") is None and not block.entries("stores"):
        raise block.refuse(
            "an assert block needs something to check: write on: with a stream, or stores: with their names"
        )
    if block.get("on") is not None:
        _check_stream(block, "on", streams)


def _check_stream(node: Node, key: str, streams: dict[str, Node]) -> None:
    if node.string(key) not in streams:
        raise node.value[key].refuse(
            f"there is no stream {node.string(key)!r} ({', '.join(streams)}): define it under streams:"
        )


def check_keys(node: Node, keys: frozenset[str], what: str, needed: tuple[str, ...]) -> None:
    """Raise KsmlError for unknown and missing keys."""
    for key, child in node.items():
        if key not in keys:
            raise child.refuse(f"{key} is not a key of {what}: write one of {', '.join(sorted(keys))}")
    for key in needed:
        if node.get(key) is None:
            raise node.refuse(f"{what} has no {key}: add {key}:")
