"""The check of a document for unknown keys, missing keys and wrong types, with their places and remedies."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from forebay.ksml.document import Node
from forebay.ksml.durations import milliseconds
from forebay.ksml.errors import KsmlError, Problem
from forebay.ksml.kinds import FUNCTIONS
from forebay.ksml.language import FUNCTION, OBJECTS, OPERATIONS, STORES, Keys
from forebay.ksml.types import UnknownType, parse_type

Inline = list[tuple[Node, str, str]]
"""Inline functions: place, name, kind."""

_WORD = re.compile(r"\W+")


def check(root: Node, problems: list[Problem]) -> Inline:
    """Add the mistakes of a definition to `problems`. Return its inline functions."""
    checker = _Checker(problems)
    checker.check(root, "a definition", OBJECTS["definition"], "")
    if not problems and not any(root.get(name) for name in ("pipelines", "producers", "functions", "streams")):
        problems.append(Problem(root.file, 1, "nothing is defined: write streams: and pipelines:, or producers:"))
    return checker.inline


class _Checker:
    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._names: set[str] = set()
        self.inline: Inline = []

    def check(self, node: Node, what: str, keys: Keys, path: str) -> None:
        """Check an object's keys."""
        if not node.is_object:
            self._add(node, f"{what} is written with keys, such as {_first(keys)}: ..., but this is {_show(node)}")
            return
        known = {key.lstrip("!"): spec for key, spec in keys.items()}
        for key, child in node.items():
            if key not in known:
                self._add(child, f"{key} is not a key of {what}: {_nearest(key, known)}")
            elif child.value is not None:
                self._value(child, key, known[key], f"{path}_{key}")
        for key in keys:
            if key.startswith("!") and node.get(key[1:]) is None:
                self._add(node, f"{what} has no {key[1:]}: add {key[1:]}:")

    def _value(self, node: Node, key: str, spec: str, path: str) -> None:
        kind, _, rest = spec.partition(":")
        if kind == "list":
            self._list(node, key, rest, path)
        elif kind == "named":
            self._check_named(node, key, rest, path)
        elif kind == "object":
            self.check(node, f"a {rest}", OBJECTS[rest], path)
        elif kind == "ref":
            if node.is_object or node.is_list:
                self.check(node, f"a {rest}", OBJECTS[rest], path)
        elif kind == "function":
            self._function(node, key, rest, path)
        elif kind == "store":
            self._store(node, rest)
        elif kind == "operation":
            self._operation(node, path)
        else:
            self._scalar(node, key, kind, rest)

    def _list(self, node: Node, key: str, spec: str, path: str) -> None:
        if not node.is_list:
            self._add(node, f"{key} is a list: write - before each of its entries")
            return
        for number, item in enumerate(node.value, 1):
            self._value(item, key, spec, f"{path}_{number}")

    def _check_named(self, node: Node, key: str, spec: str, path: str) -> None:
        if not node.is_object:
            self._add(node, f"{key} holds names: write name: and what it is below it")
            return
        for name, child in node.items():
            if child.value is None:
                self._add(child, f"{name} under {key} is empty: write what it is below it")
            elif spec == "function":
                self._check_function(child)
            else:
                self._value(child, name, spec, f"{path}_{name}" if key != "pipelines" else name)

    def _check_function(self, node: Node) -> None:
        """Check a function under functions:."""
        kind = node.string("type") or "generic"
        if not node.is_object:
            self.check(node, "a function", FUNCTION, "")
        elif kind not in FUNCTIONS:
            self._add(node.get("type") or node, f"{kind!r} is not a type of functions: {_nearest(kind, FUNCTIONS)}")
        else:
            self._function_keys(node, kind)

    def _function(self, node: Node, key: str, kind: str, path: str) -> None:
        if node.is_list:
            self._add(node, f"{key} is a function: name one, or write code: or expression: below it")
        if not node.is_object:
            return
        said = node.string("type") or kind
        if said not in FUNCTIONS:
            self._add(node, f"{said!r} is not a type of functions: {_nearest(said, FUNCTIONS)}")
            return
        self._function_keys(node, kind)
        name = _WORD.sub("_", path).strip("_") or "function"
        while name in self._names:
            name += "_"
        self._names.add(name)
        self.inline.append((node, f"_{name}" if name[0].isdigit() else name, kind))

    def _function_keys(self, node: Node, kind: str) -> None:
        self.check(node, f"a {kind} function", FUNCTION, "")
        if node.get("stores") is not None and not FUNCTIONS[kind].stores:
            able = ", ".join(name for name, kind in FUNCTIONS.items() if kind.stores)
            self._add(node.value["stores"], f"a {kind} can't use stores: only {able} can")
        if node.get("code") is None and node.get("expression") is None and node.get("globalCode") is None:
            self._add(node, "the function does nothing: write code: or expression:")

    def _store(self, node: Node, wanted: str) -> None:
        if not node.is_object:
            if node.is_list:
                self._add(node, "a store is named, or written with keys such as type: and retention:")
            return
        kind = node.string("type") or (wanted if wanted != "any" else "keyValue")
        if kind not in STORES:
            self._add(node.get("type") or node, f"{kind!r} is not a type of stores: {_nearest(kind, STORES)}")
            return
        self.check(node, f"a {kind} store", STORES[kind], "")

    def _operation(self, node: Node, path: str) -> None:
        kind = node.string("type") if node.is_object else ""
        if not kind:
            self._add(node, "an operation has a type: write - type: filter, for example")
        elif kind not in OPERATIONS:
            self._add(node.get("type") or node, f"{kind!r} is not an operation: {_nearest(kind, OPERATIONS)}")
        else:
            keys = {"type": "text", "name": "text", **OPERATIONS[kind]}
            self.check(node, f"the operation {kind}", keys, f"{path}_{kind}")

    def _scalar(self, node: Node, key: str, kind: str, rest: str) -> None:
        if kind in ("any", "code"):
            return
        if kind == "type":
            self._type(node)
        elif node.is_object or node.is_list:
            self._add(node, f"{key} is one value, but this is {_show(node)}: write it behind {key}:")
        elif kind == "bool" and not isinstance(node.value, bool):
            self._add(node, f"{key} is {node.text!r}: write true or false")
        elif kind == "int" and not str(node.value).isdigit():
            self._add(node, f"{key} is {node.text!r}: write a whole number")
        elif kind == "choice" and node.text not in rest.split("|"):
            self._add(node, f"{key} is {node.text!r}: write one of {', '.join(rest.split('|'))}")
        elif kind == "duration":
            self._duration(node)

    def _type(self, node: Node) -> None:
        try:
            parse_type(node.text)
        except UnknownType as error:
            self._add(node, str(error))

    def _duration(self, node: Node) -> None:
        try:
            milliseconds(node)
        except KsmlError as error:
            self._problems.extend(error.problems)

    def _add(self, node: Node, message: str) -> None:
        self._problems.append(Problem(node.file, node.key_line, message))


def _nearest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close_matches = difflib.get_close_matches(word, names, n=1, cutoff=0.7)
    return f"write {close_matches[0]}" if close_matches else f"write one of {', '.join(names)}"


def _first(keys: Mapping[str, str]) -> str:
    return next((key[1:] for key in keys if key.startswith("!")), next(iter(keys)))


def _show(node: Node) -> str:
    if node.is_object:
        return "an object"
    return "a list" if node.is_list else repr(node.text)
