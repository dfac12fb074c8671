"""The keys of a sub-topology's stores: their formats, and the record keys to which they belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forebay.builder.components import Component
from forebay.builder.foreign import Subscription, owner_of_subscription
from forebay.builder.nodes import Node
from forebay.formats import Format, owner_of
from forebay.formats.identities import Identity
from forebay.stores.binding import Store
from forebay.stores.keyed import MARK
from forebay.stores.keys import split_key
from forebay.stores.spread import NotSpreadable
from forebay.stores.ttl import TtlKeyValueStore

_PROCESS = "process "
"""Prefix of the names of processors' nodes and timers."""


class StoredKeys:
    """The keys of a sub-topology's stores.

    Args:
        stores: Node and store, by the store's name.
    """

    def __init__(self, component: Component, stores: Mapping[str, tuple[Node, Store[Any]]]) -> None:
        self._component = component
        self._stores = stores

    def record_key(self, name: str, key: str) -> str | bytes | None:
        """Return the record key that a row of a store or a timer belongs to (see Processor.record_key)."""
        for read in self._component.reads:
            if read.partitioner is not None:
                raise NotSpreadable(
                    f"{read.where}: the repartition {read.name} has partitions or a "
                    "partitioner of its own, so its records can't be assigned to other tasks: "
                    "this job can't be rescaled"
                )
        if name not in self._stores:
            return self._key_of_timer(name, key)
        node, store = self._stores[name]
        if node.is_global:
            return None
        if node.value.type is Subscription:
            owner = owner_of_subscription(key) if name.endswith("-subscriptions") else key
            return owner_of(node.parents[0].key)(owner)
        inner = _format_of(node)
        if store.key_format is not None and key.startswith(MARK):
            if not store.key_format.is_same(inner):
                raise NotSpreadable(
                    f"{node.where}: the store {name} has {store.key_format} keys, from which the {inner} key of the "
                    "stream can't be derived, so the task of a row is unknown: this job can't be rescaled"
                )
            # Keys that are not text begin with a mark. Their format is that of the stream's keys, so they are keys of
            # the stream.
            return owner_of(inner)(key.removeprefix(MARK))
        if isinstance(store, TtlKeyValueStore) and not _is_process(node):
            return owner_of(inner)(split_key(key)[0])
        return owner_of(inner)(key)

    def timer_keys(self) -> dict[str, Identity]:
        """Return the identity of the key format of each processor's timers, by the prefix of their names."""
        processes = [node for node in self._component.nodes if _is_process(node)]
        return {f"{node.name}: ": node.parents[0].key.identity for node in processes}

    def _key_of_timer(self, name: str, key: str) -> str | bytes | None:
        """Return the record key of a processor's timer. None: the timer belongs to every task."""
        for node in self._component.nodes:
            if _is_process(node) and name.startswith(f"{node.name}: "):
                return owner_of(node.parents[0].key)(key)
        if name.startswith(_PROCESS):
            # If all tasks had the timer, it would fire several times once the processor is declared again.
            raise NotSpreadable(
                f"{name.partition(': ')[0]} is not declared, so the timer of the key {key!r} can't be assigned to "
                "another number of tasks: add the processor that had it, and rescale the job then"
            )
        return None

    def keys_of(self, name: str) -> Callable[[str], Any]:
        """Return the function that converts a row text of a store to a key.

        The stores of processors return keys, so the function returns its argument.
        """
        node, store = self._stores[name]
        if _is_process(node) or store.key_format is not None:
            return lambda key: key
        key_format = self.format_of(name)
        return str if key_format is None else key_format.of_row or str

    def format_of(self, name: str) -> Format[Any] | None:
        """Return the format of a store's keys. None: they are texts, or the store returns keys."""
        node, store = self._stores[name]
        if _is_process(node) or store.key_format is not None:
            return None
        if node.value.type is Subscription or isinstance(store, TtlKeyValueStore):
            return None
        return _format_of(node)


def _format_of(node: Node) -> Format[Any]:
    return node.parents[0].key if node.parents else node.key


def _is_process(node: Node) -> bool:
    return node.name.startswith(_PROCESS)
