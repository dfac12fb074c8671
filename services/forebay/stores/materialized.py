"""The options of a store: its cache, changelog and location."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self

from forebay.stores.internal import KINDS, PARKED, TIMERS
from forebay.stores.table import Change, Table

_INTERNAL = b"\x01"
_OF_THE_TASK = tuple(prefix.removesuffix(b"\0") for prefix in (KINDS, TIMERS, PARKED))


class Materialized(str):
    """The name of a store together with its options (Kafka Streams' Materialized and StoreBuilder).

    It can be passed wherever the name of a store is expected.
    """

    caching: bool | None
    logging: bool
    persistent: bool | None

    def __new__(
        cls, name: str, *, caching: bool | None = None, logging: bool = True, persistent: bool | None = None
    ) -> Self:
        """Return a name that carries the options.

        Args:
            name: Name of the store.
            caching: Whether only the last of several updates of a key in one commit goes to the table's outputs. None:
                as the job's option `--emit` specifies.
            logging: Whether the store has a changelog. Without one, its rows are lost when the task moves.
            persistent: Whether the rows are on the worker's disk rather than in memory. None: as the job's option
                `--tables` specifies.
        """
        instance = super().__new__(cls, name)
        instance.caching, instance.logging, instance.persistent = (
            caching,
            logging,
            persistent,
        )
        return instance


class HasOptions(Protocol):
    """A store with options for its cache, changelog and location."""

    name: str
    options: Materialized


def derived_store(store: str, suffix: str) -> str:
    """Return the name of an additional store of a store, with the same options."""
    name = f"{store}-{suffix}"
    if not isinstance(store, Materialized):
        return name
    return Materialized(name, logging=store.logging, persistent=store.persistent)


def unlogged_names(stores: Iterable[HasOptions]) -> frozenset[bytes]:
    """Return the names of the stores without a changelog."""
    return frozenset(store.name.encode() for store in stores if not store.options.logging)


def store_of(row: bytes) -> bytes:
    """Return the name of the store to which a row of a table belongs; b"" for a row of the task."""
    if not row.startswith(_INTERNAL):
        return row.partition(b"\0")[0]
    kind, _, rest = row.partition(b"\0")
    return b"" if kind in _OF_THE_TASK else rest.partition(b"\0")[0]


def purge(table: Table, names: frozenset[bytes]) -> None:
    """Delete all rows of stores without a changelog, because those in a snapshot are out of date."""
    gone: list[Change] = [(key, None) for key, _ in table.scan(_INTERNAL, b"\x02") if store_of(key) in names]
    for name in names:
        gone += [(key, None) for key, _ in table.scan(name + b"\0", name + _INTERNAL)]
    if gone:
        table.apply(gone, table.tag)
