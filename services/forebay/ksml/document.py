"""YAML text as a tree of nodes with file and line, in which anchors and merges are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from forebay.ksml.errors import KsmlError, refusal

_MERGE = "tag:yaml.org,2002:merge"
_MAX_NODES = 200_000


class Node:
    """A value of a document.

    Args:
        value: a dict of nodes by key, a list of nodes, or a YAML scalar.
        text: its source, without quotes.
        line: line of its begin, from 1.
        first_line: line of a scalar's first character, which for a block of text is the line after its mark.
        key_line: line of its key.
    """

    __slots__ = ("file", "first_line", "key_line", "line", "text", "value")

    def __init__(self, file: str, value: Any, text: str, line: int, first_line: int) -> None:
        self.file = file
        self.value = value
        self.text = text
        self.line = self.key_line = line
        self.first_line = first_line

    @property
    def is_object(self) -> bool:
        """Whether it is an object with keys."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.value, list)

    def get(self, key: str) -> Node | None:
        """Return the value of a key; None if the key is missing or null."""
        child = self.value.get(key) if isinstance(self.value, dict) else None
        return None if child is None or child.value is None else child

    def string(self, key: str, default: str = "") -> str:
        """Return the text of a key's value."""
        child = self.get(key)
        return default if child is None else child.text

    def flag(self, key: str) -> bool | None:
        """Return a key's boolean; None if the key is missing."""
        child = self.get(key)
        return None if child is None else bool(child.value)

    def items(self) -> Iterator[tuple[str, Node]]:
        """Return keys and values in order."""
        return iter(self.value.items()) if isinstance(self.value, dict) else iter(())

    def entries(self, key: str) -> list[Node]:
        """Return the entries of a key's list; [] if the key is missing."""
        child = self.get(key)
        return [] if child is None else list(child.value)

    def children(self, key: str) -> dict[str, Node]:
        """Return the values under a key by name; {} if the key is missing."""
        child = self.get(key)
        return {} if child is None or not child.is_object else dict(child.value)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all objects within it, in order."""
        if self.is_object:
            yield self
            for _, child in self.items():
                yield from child.walk()
        elif self.is_list:
            for child in self.value:
                yield from child.walk()

    def refuse(self, message: str) -> KsmlError:
        """Return an error with the place of this node."""
        return refusal(self.file, self.key_line, message)


def parse(text: str, file: str) -> Node:
    """Return the tree of a document.

    Raises:
        KsmlError: it is not YAML, a key is repeated, an anchor contains itself, or the root is not an object.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise refusal(file, 1, "the file is empty: write streams: and pipelines: into it")
        tree = _Reader(file, text, loader).read(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise refusal(file, line, f"invalid YAML: {error.problem or error.context}: correct this line") from error
    except yaml.YAMLError as error:
        raise refusal(file, 1, f"invalid YAML: {error}: correct the file") from error
    finally:
        loader.dispose()
    if not tree.is_object:
        raise refusal(file, tree.line, "a definition has keys at its top: write streams: and pipelines:")
    return tree


class _Reader:
    def __init__(self, file: str, text: str, loader: yaml.SafeLoader) -> None:
        self._file = file
        self._text = text
        self._loader = loader
        self._within: list[yaml.Node] = []
        self._read = 0

    def read(self, node: yaml.Node) -> Node:
        line = node.start_mark.line + 1
        if any(node is other for other in self._within):
            raise refusal(self._file, line, "an anchor contains itself: write the value out")
        self._read += 1
        # A few lines of nested anchors can expand to billions of values ("billion laughs").
        if self._read > _MAX_NODES:
            raise refusal(self._file, line, f"the file expands to more than {_MAX_NODES} values: use fewer anchors")
        self._within.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._node(node, self._mapping(node))
            if isinstance(node, yaml.SequenceNode):
                return self._node(node, [self.read(item) for item in node.value])
            return self._scalar(node)
        finally:
            self._within.pop()

    def _node(self, node: yaml.Node, value: Any) -> Node:
        text = self._text[node.start_mark.index : node.end_mark.index]
        line = node.start_mark.line + 1
        return Node(self._file, value, text, line, line)

    def _scalar(self, node: yaml.Node) -> Node:
        line = node.start_mark.line + 1
        try:
            value = self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise refusal(self._file, line, f"{node.value!r} can't be read: {error}: put it into quotes") from error
        # The text of a block begins on the line after its mark. Errors in its code are counted from there.
        is_block = getattr(node, "style", None) in ("|", ">")
        return Node(self._file, value, node.value, line, line + is_block)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Node]:
        children: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for mapping in self._merge(value):
                    merged = {**mapping, **merged}
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise refusal(self._file, key.start_mark.line + 1, "a key is not text: write name: value")
            if key.value in children:
                raise refusal(
                    self._file,
                    key.start_mark.line + 1,
                    f"the key {key.value} occurs twice, first in line {children[key.value].key_line}: keep one of them",
                )
            child = self.read(value)
            child.key_line = key.start_mark.line + 1
            children[key.value] = child
        # By YAML's rule, a key of the object itself overrides a merged key.
        return {**merged, **children}

    def _merge(self, node: yaml.Node) -> list[dict[str, Node]]:
        wanted = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not all(isinstance(mapping, yaml.MappingNode) for mapping in wanted):
            raise refusal(self._file, node.start_mark.line + 1, "<<: takes an alias of an object: write <<: *name")
        return [self.read(mapping).value for mapping in wanted]
