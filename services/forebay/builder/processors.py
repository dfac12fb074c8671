"""Nodes that run a user's processor or value transformer."""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from forebay.builder.contexts import Chosen, NodeContext, RowContext, timer_writer
from forebay.builder.graph import Graph
from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.formats import Format
from forebay.operators.table import Change, change_of_row
from forebay.processor.api import AnyProcessor, Context, Processor, Timer, adopt_former_methods
from forebay.processor.bound_stores import NoNewInstance, declared_stores, new_instance
from forebay.stores.binding import Store
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.upgrade import describe_store
from forebay.time.durations import ms_of

K = TypeVar("K")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class ValueTransformer(abc.ABC, Generic[K, V, O]):
    """A function with stores that computes the rows of a table from those of another one.

    It corresponds to Kafka Streams' ValueTransformerWithKey.

    Declare stores as class attributes or in the constructor.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adopt_former_methods(cls)

    def init(self) -> None:
        """Initialize the transformer. It is called once per task, after the stores are bound to the task."""

    @abc.abstractmethod
    def transform(self, key: K, value: V | None, ctx: Context[Any], /) -> O | None:
        """Return the row of `key`, or None if the result has no row for this key.

        Args:
            key: Key of the row.
            value: New value of the row in the input table. None: it was deleted.
            ctx: Context of the record. Forwards and timers are not possible.
        """


def processor_node(
    graph: Graph,
    parent: Node,
    name: str,
    make_processor: Callable[[], AnyProcessor],
    key: Format[Any],
    into: Format[Any],
    keeps_key: bool,
    children: Collection[str] = (),
    shared: Sequence[str] = (),
) -> Node:
    """Return the node that runs a processor.

    Args:
        make_processor: Function that returns a new processor.
        key: Format of the keys of forwards.
        into: Format of the values of forwards.
        keeps_key: Whether forwards must keep the key.
        children: Names of its children, if it chooses one in each forward.
        shared: Names of the stores that other nodes declare.

    Raises:
        TopologyError: A store can't be shared, or `make_processor` returns no new processor.
    """
    if key.name != parent.key.name and keeps_key:
        raise TopologyError(f"process {name}: process_values() keeps the key's format")
    instance: AnyProcessor = _call_supplier(make_processor, Processor, f"process {name}")
    own, owners = _stores(graph, parent, f"process {name}", instance, shared)
    # Look this up once per topology instead of once per record.
    has_on_delete = type(instance).on_delete is not Processor.on_delete

    def make(bound: Bound, out: Flow) -> Made:
        processor = _bound(bound, make_processor(), parent.key)
        timer = f"process {name}: "
        key_of = reader_of_rows(parent.key)
        rows = key_of, writer_of_rows(key)
        context: Any = NodeContext(timer, out, *rows, keeps_key, children, timer_writer(parent.key))

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                processor.process(value, context.of_element(ctx, key, timestamp))
            elif has_on_delete:
                processor.on_delete(ctx.topic, context.of_element(ctx, key, timestamp))
            else:
                raise NotImplementedError(
                    f"process {name}: a record without value reached {type(processor).__name__}, which has no "
                    "on_delete(): define it, put drop_nulls() before, or read the stream with nulls=False"
                )

        def on_timer(fired: Timer, ctx: Context[Any]) -> None:
            named = Timer(fired.due, fired.name[len(timer) :], None if fired.key is None else key_of(fired.key))
            processor.on_timer(named, context.of_element(ctx, fired.key, fired.due))

        def on_wall_clock(now: int, ctx: Context[Any]) -> None:
            processor.on_wall_clock(now, context.of_element(ctx, None, now))

        return Made((flow,), timer, on_timer, on_wall_clock)

    return Node(
        Kind.STEP,
        f"process {name}",
        key,
        into,
        (parent,),
        owners,
        stores=own,
        make=make,
        wall_clock_ms=ms_of(instance.wall_clock_interval_ms),
    )


def child(parent: Node, name: str, into: Format[Any]) -> Node:
    """Return the node that receives the records that a processor forwards to the child with this name."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Chosen, timestamp: int, ctx: Context[Any]) -> None:
            if value.child == name:
                out(key, value.value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"child {name}", parent.key, into, (parent,), make=make)


def transformer_node(
    graph: Graph,
    parent: Node,
    make_transformer: Callable[[], ValueTransformer[Any, Any, Any]],
    into: Format[Any],
    store: str,
    shared: Sequence[str],
) -> Node:
    """Return the node that computes rows with a value transformer and stores them.

    Raises:
        TopologyError: A store can't be shared, or `make_transformer` returns no new transformer.
    """
    declared: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(store, into)
    instance: ValueTransformer[Any, Any, Any] = _call_supplier(make_transformer, ValueTransformer, f"transform {store}")
    own, owners = _stores(graph, parent, f"transform {store}", instance, shared)

    def make(bound: Bound, out: Flow) -> Made:
        transformer, rows = _bound(bound, make_transformer(), parent.key), bound.store(declared)
        context: Any = RowContext(reader_of_rows(parent.key))

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            seen = context.of_element(ctx, key, timestamp)
            # The result is stored. Kafka Streams computes it again for old values and lookups, which repeats a
            # transformer's changes of its stores.
            old, new = rows.get(key), transformer.transform(seen.key, change.new, seen)
            rows.put(key, new, timestamp)
            if old is not None or new is not None:
                out(key, change_of_row(key, new, old, timestamp), timestamp, ctx)

        return Made((flow,))

    return Node(
        Kind.STEP,
        f"transform to {into}",
        parent.key,
        into,
        (parent,),
        owners,
        stores=(declared, *own),
        make=make,
        view=lambda bound: bound.store(declared),
        asks_old=False,
        gives_rows=True,
        filled=[store],
    )


P = TypeVar("P", AnyProcessor, ValueTransformer[Any, Any, Any])


def _call_supplier(make: Any, wanted: type[Any], what: str) -> Any:
    """Return the result of `make`.

    Raises:
        TopologyError: The result is no instance of `wanted`, or the same object in each call.
    """
    try:
        return new_instance(make, wanted)
    except NoNewInstance as error:
        raise TopologyError(f"{what}: {error}") from None


def _bound(bound: Bound, made: P, key: Format[Any]) -> P:
    """Bind a processor to the stores of its task, initialize it and return it.

    Args:
        key: Key format of the records. The keys of a table's store that it shares have this format, too.
    """
    for attribute, declared in list(declared_stores(made)):
        store = bound.store(declared)
        is_of_table = store.key_format is None and not key.is_text
        setattr(made, attribute, store.of_table(key) if is_of_table else store)
    made.init()
    return made


def _stores(
    graph: Graph, parent: Node, what: str, made: Any, shared: Sequence[str]
) -> tuple[tuple[Store[Any], ...], tuple[Node, ...]]:
    """Return the stores that only a processor uses, and the nodes whose stores it shares.

    Raises:
        TopologyError: A store is unknown, is declared differently or holds other keys.
    """
    declared: Mapping[str, Store[Any]] = {
        store.name: store.with_keys(parent.key) if store.key_format is None and not parent.key.is_text else store
        for _, store in declared_stores(made)
    }
    owners = []
    for name in shared:
        owner = graph.owner_of_store(name)
        if owner is None or name not in declared:
            missing = "has no attribute that declares it" if owner is not None else "no node before this one has it"
            raise TopologyError(
                f"{what}: the store {name} can't be shared: {missing}; name only stores in stores= that the "
                f"{type(made).__name__} declares and an earlier node has"
            )
        (existing,) = (store for store in owner.stores if store.name == name)
        declaration = declared[name]
        if (describe_store(existing), existing.format) != (describe_store(declaration), declaration.format):
            raise TopologyError(
                f"{what}: {owner.where} has the store {name} as {describe_store(existing)} of {existing.format}, the "
                f"{type(made).__name__} as {describe_store(declaration)} of {declaration.format}: use one declaration"
            )
        if not owner.is_global and (owner.parents or (owner,))[0].key.name != parent.key.name:
            raise TopologyError(
                f"{what}: the store {name} holds {(owner.parents or (owner,))[0].key} keys, this stream {parent.key}: "
                "equal keys are in different tasks; call select_key() before"
            )
        owners.append(owner)
    return tuple(store for name, store in declared.items() if name not in shared), tuple(owners)
