"""A parsed definition file: functions, stores, topics, pipelines and producers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from forebay.ksml.code import Source, read_function
from forebay.ksml.document import Node, parse
from forebay.ksml.errors import KsmlError, Problem, refusal
from forebay.ksml.grammar import check
from forebay.ksml.stores import StoreSpec, read_store, read_type
from forebay.ksml.types import ANY, Type


@dataclass
class Definition:
    """A parsed definition.

    Args:
        namespace: prefix of its loggers' names, which is the file's name.
        text: text of the file.
        functions: functions by name. Inline functions are added when the nodes that contain them are compiled.
    """

    namespace: str
    root: Node
    text: str = ""
    functions: dict[str, Source] = field(default_factory=dict)
    stores: dict[str, StoreSpec] = field(default_factory=dict)
    _inline: dict[int, Source] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file's name, as in errors."""
        return self.root.file

    def section(self, name: str) -> Mapping[str, Node]:
        """Return the nodes of a section of the file, by name."""
        return self.root.children(name)

    def sources(self) -> list[Source]:
        """Return all functions in the file's order."""
        every = [*self.functions.values(), *self._inline.values()]
        return sorted(every, key=lambda source: source.line)

    def function(self, node: Node, kind: str) -> Source:
        """Return the function that a node names or contains. Raises KsmlError."""
        if node.is_object:
            return self._inline[id(node)]
        function = self.functions.get(node.text)
        if function is None:
            known = ", ".join(self.functions) or "none is defined"
            raise node.refuse(f"there is no function {node.text!r} ({known}): define it under functions:")
        if function.kind not in (kind, "generic") and kind not in _ALIKE.get(function.kind, ()):
            raise node.refuse(
                f"{node.text} is a {function.kind}, but a {kind} is called here: "
                f"name one, or change its type: to {kind}"
            )
        return function

    def store(self, name: str, node: Node) -> StoreSpec:
        """Return the store that a node refers to by its name. Raises KsmlError."""
        store = self.stores.get(name)
        if store is None:
            known = ", ".join(self.stores) or "none is defined"
            raise node.refuse(f"there is no store {name!r} ({known}): define it under stores:")
        return store

    def topic(self, node: Node) -> Node:
        """Return the stream or table that a node names. Raises KsmlError."""
        for section in ("streams", "tables", "globalTables"):
            known_topic = self.section(section).get(node.text)
            if known_topic is not None:
                return known_topic
        known = ", ".join(name for section in ("streams", "tables") for name in self.section(section)) or "none"
        raise node.refuse(f"there is no stream or table {node.text!r} (there is {known}): define it under streams:")

    def topics_of(self, key: Type, value: Type) -> list[str]:
        """Return the distinct topics of streams and tables of these types."""
        topics = [
            node.string("topic")
            for section in ("streams", "tables")
            for node in self.section(section).values()
            if (read_type(node, "keyType", ANY), read_type(node, "valueType", ANY)) == (key, value)
        ]
        return list(dict.fromkeys(topics))

    def add_inline(self, node: Node, name: str, kind: str) -> None:
        """Add an inline function."""
        self._inline[id(node)] = read_function(node, name, kind)


_ALIKE = {
    "keyTransformer": ("keyValueMapper",),
    "keyValueMapper": ("keyTransformer", "valueTransformer", "keyValueTransformer"),
    "keyValueTransformer": ("keyValueMapper",),
    "valueTransformer": ("keyValueMapper",),
    "reducer": ("valueJoiner", "merger"),
}
"""Kinds with the same parameters, for which KSML accepts each other's functions."""


def read_definition(file: Path, shown: str = "") -> Definition:
    """Return the definition of a file. Raises KsmlError with all problems."""
    name = shown or str(file)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise refusal(name, 1, f"the file can't be read: {error.strerror}: name a file that is there") from error
    except UnicodeDecodeError as error:
        raise refusal(name, 1, f"the file is not UTF-8: {error}: save it as UTF-8") from error
    return definition_of(text, name, file.stem)


def definition_of(text: str, file: str, namespace: str = "ksml") -> Definition:
    """Return the definition of a text. Raises KsmlError with all problems."""
    root = parse(text, file)
    problems: list[Problem] = []
    inline = check(root, problems)
    if problems:
        raise KsmlError(problems)
    definition = Definition(namespace, root, text)
    work: list[Callable[[], object]] = [
        *(partial(_add, definition, name, node) for name, node in root.children("functions").items()),
        *(partial(definition.add_inline, *inline_function) for inline_function in inline),
        *(partial(_add_store, definition, name, node) for name, node in root.children("stores").items()),
    ]
    for step in work:
        try:
            step()
        except KsmlError as error:
            problems.extend(error.problems)
    if problems:
        raise KsmlError(sorted(problems, key=lambda problem: problem.line))
    return definition


def _add(made: Definition, name: str, node: Node) -> None:
    made.functions[name] = read_function(node, name, node.string("type") or "generic")


def _add_store(made: Definition, name: str, node: Node) -> None:
    made.stores[name] = read_store(node, name)
