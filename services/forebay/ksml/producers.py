"""Producers of a definition: generators that are called at intervals until they are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from forebay.codec import Codec
from forebay.formats import no_contracts
from forebay.ksml.convert import converter
from forebay.ksml.definition import Definition
from forebay.ksml.document import Node
from forebay.ksml.durations import duration
from forebay.ksml.formats import Formats
from forebay.ksml.functions import Functions
from forebay.ksml.partitions import partitions_of
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY, STRING, Type, UnknownType
from forebay.ksml.values import WrongType, giver_of
from forebay.ksml.watch import Watch
from forebay.processor.api import RejectedRecord

Contract = Callable[[type[Any]], Codec[Any]]
"""Returns the codec of a record class with its contract."""

_TRIES = 10
"""Maximum calls of a generator until the condition accepts a message, as in KSML."""
_LIMIT_MS = 60_000


class Generated(NamedTuple):
    """A record to send."""

    topic: str
    key: Any
    value: Any


class Producer:
    """A producer of a definition.

    Args:
        functions: functions of its definition.
    """

    def __init__(self, name: str, node: Node, definition: Definition, functions: Functions, formats: Formats) -> None:
        self.name = name
        target = _target(definition, node.value["to"])
        self.topic = target.string("topic")
        self.key, self.value = read_type(target, "keyType", STRING), read_type(target, "valueType", ANY)
        self._formats = formats
        _check(target, formats, self.key, self.value)
        source = definition.function(node.value["generator"], "generator")
        self._generate = functions.late(source)
        self._kinds = _kinds(source.result)
        self._takes = _predicate(definition, functions, node, "condition")
        self._until = _predicate(definition, functions, node, "until")
        count, size = node.get("count"), node.get("batchSize")
        self._left = None if count is None else int(count.value)
        self._size = 1 if size is None else int(size.value)
        self.interval_ms = duration(node, "interval", 0) or 0
        self._is_once = all(node.get(key) is None for key in ("interval", "count", "until"))
        self.ends = self._is_once or self._left is not None or self._until is not None
        held = target.get("partitioner")
        self._place = None if held is None else functions.late(definition.function(held, "streamPartitioner"))
        self._waiting: list[tuple[Any, Any]] = []
        self.is_done = self._left == 0

    def batch(self) -> list[Generated]:
        """Return the records that are due now, and record whether they are the last. Raises RejectedRecord."""
        records: list[Generated] = []
        for _ in range(self._size):
            message = next((message for message in (self._next() for _ in range(_TRIES)) if message is not None), None)
            if message is None:
                continue
            records.append(Generated(self.topic, *message))
            if self._left is not None:
                self._left -= 1
            if self._left == 0 or (self._until is not None and self._until(*message)):
                self.is_done = True
                break
        self.is_done = self.is_done or self._is_once
        return records

    def _next(self) -> tuple[Any, Any] | None:
        """Return the next message; None if the condition accepts none of those generated."""
        if not self._waiting:
            self._waiting = [pair for pair in map(self._convert, _pairs(self._generate())) if self._is_taken(pair)]
        return self._waiting.pop(0) if self._waiting else None

    def _is_taken(self, pair: tuple[Any, Any]) -> bool:
        return self._takes is None or bool(self._takes(*pair))

    def _convert(self, pair: Any) -> tuple[Any, Any]:
        change_key = converter(self._kinds[0], self.key, self._formats)
        change = converter(self._kinds[1], self.value, self._formats)
        key, value = pair
        return (key if change_key is None else change_key(key)), (value if change is None else change(value))

    @property
    def has_partitioner(self) -> bool:
        """Whether a function determines the partitions of its records."""
        return self._place is not None

    def partitions(self, record: Generated, count: int) -> list[int | None]:
        """Return the partitions of a record, out of `count`; None: by its key's hash. Raises RejectedRecord."""
        if self._place is None:
            return [None]
        numbers = self._place(record.topic, record.key, record.value, count)
        try:
            return partitions_of(numbers, record.topic, count)
        except WrongType as error:
            raise RejectedRecord(f"producer {self.name}: {error}") from error

    def codecs(self, contracts: Contract = no_contracts) -> tuple[Codec[Any], Codec[Any]]:
        """Return the codecs of keys and values."""
        return self._formats.of(self.key).codec(no_contracts), self._formats.of(self.value).codec(contracts)


def _kinds(result: Type) -> tuple[Type, Type]:
    pair = result.parts[0] if result.kind == "list" else result
    return (pair.parts[0], pair.parts[1]) if pair.kind == "tuple" and len(pair.parts) == 2 else (ANY, ANY)


def _pairs(found: Any) -> Iterator[Any]:
    """Yield the messages that a generator returned, as one tuple or a list of tuples. Other items are left out."""
    many = found if isinstance(found, list) and all(isinstance(pair, list | tuple) for pair in found) else [found]
    return (pair for pair in many if isinstance(pair, list | tuple) and len(pair) == 2)


def _target(definition: Definition, node: Node) -> Node:
    return node if node.is_object else definition.topic(node)


def _check(node: Node, formats: Formats, *kinds: Type) -> None:
    try:
        for kind in kinds:
            formats.of(kind)
    except UnknownType as error:
        raise node.refuse(str(error)) from error


def _predicate(definition: Definition, functions: Functions, node: Node, key: str) -> Callable[..., Any] | None:
    held = node.get(key)
    if held is None:
        return None
    call = functions.late(definition.function(held, "predicate"))
    give = giver_of(ANY) or (lambda value: value)
    return lambda own, value: call(own, None if value is None else give(value))


def producers_of(definition: Definition, formats: Formats, limit_ms: int = _LIMIT_MS) -> list[Producer]:
    """Return the producers of a definition. Raises KsmlError."""
    functions = Functions(definition.namespace, definition.sources(), Watch(limit_ms))
    return [
        Producer(name, node, definition, functions, formats) for name, node in definition.section("producers").items()
    ]
