"""The state of building a definition's topology: functions, stores, formats, and the nodes created so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forebay.builder import Topology
from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.builder.nodes import Bound, Flow, Kind, Made, TopologyError
from forebay.builder.nodes import Node as Step
from forebay.formats import Format, key_writer
from forebay.ksml.code import Source
from forebay.ksml.definition import Definition
from forebay.ksml.document import Node
from forebay.ksml.errors import KsmlError
from forebay.ksml.formats import Formats
from forebay.ksml.functions import Functions
from forebay.ksml.proxies import proxy_of
from forebay.ksml.proxy import Proxy
from forebay.ksml.stores import StoreSpec, store_node
from forebay.ksml.types import Type, UnknownType
from forebay.ksml.values import giver_of, viewer_of
from forebay.stores.binding import Store

Body = Callable[[Callable[..., Any], Flow], Flow]
"""Returns the function that processes a step's records, from the function to call and the receiver of results."""


class Build:
    """The topology of one definition for one task.

    Args:
        functions: the functions of the task, which all steps share.
        by_key: whether records whose key changed are repartitioned before a function that uses stores.
    """

    def __init__(
        self,
        definition: Definition,
        topology: Topology,
        formats: Formats,
        functions: Functions,
        *,
        by_key: bool = True,
    ) -> None:
        self.definition = definition
        self.topology = topology
        self.graph = topology.graph
        self.formats = formats
        self.functions = functions
        self.by_key = by_key
        self._stores: dict[str, tuple[StoreSpec, Step]] = {}
        self._names: set[str] = set()
        self.find_table: Callable[[str], None] = lambda _: None

    def format(self, kind: Type, node: Node) -> Format[Any]:
        """Return a type's format. Raises KsmlError with the place of `node`."""
        try:
            return self.formats.of(kind)
        except UnknownType as error:
            raise node.refuse(str(error)) from error

    def key_format(self, kind: Type, node: Node) -> Format[Any]:
        """Return the format of a key's type. Raises KsmlError if keys can't have the type."""
        format_ = self.format(kind, node)
        if format_.row is None:
            raise node.refuse(f"keys can't be {kind}: convert them to string or json")
        try:
            # Avro needs the schema's id from the registry. Request it at the start, not at the first record.
            key_writer(format_)
        except UnknownType as error:
            raise node.refuse(str(error)) from error
        return format_

    def function(self, node: Node, kind: str) -> Source:
        """Return the function that a node names or contains."""
        return self.definition.function(node, kind)

    def call(self, source: Source) -> Callable[..., Any]:
        """Return a callable for a function without stores."""
        return self.functions.late(source)

    def keyed_call(self, source: Source, key: Type, *values: Type) -> Callable[..., Any]:
        """Return a callable that passes a key and values to a function, as copies for each call."""
        called = self.call(source)
        give_key, gives = giver_of(key), [giver_of(value) for value in values]

        def call_source(own: Any, *rest: Any) -> Any:
            shown = own if give_key is None or own is None else give_key(own)
            return called(shown, *[v if g is None or v is None else g(v) for g, v in zip(gives, rest, strict=True)])

        return call_source

    def valued_call(self, source: Source, *values: Type) -> Callable[..., Any]:
        """Return a callable that passes values to a function, without a key."""
        called = self.call(source)
        gives = [giver_of(value) for value in values]
        return lambda *rest: called(*[v if g is None or v is None else g(v) for g, v in zip(gives, rest, strict=True)])

    def step(
        self,
        parent: Step,
        name: str,
        node: Node,
        formats: tuple[Format[Any], Format[Any]],
        source: Source | None,
        types: tuple[Type, Type],
        body: Body,
        *,
        gives_rows: bool = False,
    ) -> Step:
        """Add a step that calls a function for each record, nulls included.

        Args:
            formats: formats of keys and values of its results.
            source: the function; None: it calls no function.
            types: types of its input records.
        """
        used = self._store_steps(source, node)

        def make(bound: Bound, out: Flow) -> Made:
            if source is None:
                return Made((body(_nothing, out),))
            proxies = {name: self._proxy(bound, spec, step) for name, (spec, step) in used.items()}
            called = self.functions.function(source, proxies)
            shown = of_record(called, parent.key, types, only_looks=source.only_looks)
            return Made((body(shown, out),))

        return self.graph.add(
            Step(
                Kind.STEP,
                name,
                *formats,
                (parent,),
                looked_up=tuple(step for _, step in used.values()),
                make=make,
                gives_rows=gives_rows,
                asks_old=False,
            )
        )

    def _store_steps(self, source: Source | None, node: Node) -> Mapping[str, tuple[StoreSpec, Step]]:
        return {} if source is None else {name: self._store(name, node) for name in source.stores}

    def _store(self, name: str, node: Node) -> tuple[StoreSpec, Step]:
        if name not in self._stores:
            self.find_table(name)
        store = self._stores.get(name)
        if store is None:
            spec = self.definition.store(name, node)
            try:
                store = self._stores[name] = spec, self.graph.add(store_node(spec, self.formats))
            except UnknownType as error:
                raise spec.text.refuse(str(error)) from error
        return store

    def keep(self, name: str, spec: StoreSpec, step: Step) -> None:
        """Register the step that holds a store of the definition, so that functions find the store there."""
        self._stores.setdefault(name, (spec, step))

    def alias(self, name: str, store: str) -> None:
        """Make a table's store available to functions by the table's name."""
        if store in self._stores:
            self._stores.setdefault(name, self._stores[store])

    def _proxy(self, bound: Bound, spec: StoreSpec, step: Step) -> Any:
        return self.proxy(self.formats, spec, bound.store(step.stores[0]))

    @staticmethod
    def proxy(formats: Formats, spec: StoreSpec, own: Store[Any]) -> Proxy:
        """Return the object by which functions access a task's store."""
        key = formats.of(spec.key)
        is_stamped = bool(spec.text.flag("timestamped"))
        return proxy_of(own, spec.key, spec.value, writer_of_rows(key), reader_of_rows(key), is_stamped=is_stamped)

    def name(self, wanted: str) -> str:
        """Return an unused name that consists of characters that are allowed in a topic's name."""
        plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in wanted) or "step"
        candidate, number = plain, 1
        while candidate in self._names:
            number += 1
            candidate = f"{plain}-{number}"
        self._names.add(candidate)
        return candidate


def of_record(
    called: Callable[..., Any], key: Format[Any], types: tuple[Type, Type], *, only_looks: bool = False
) -> Callable[..., Any]:
    """Return a function of row texts and values that calls a function of keys and values with copies.

    Args:
        only_looks: whether the function changes neither, so that it needs no copies.
    """
    give_key, give = (viewer_of(kind) if only_looks else giver_of(kind) for kind in types)
    if key.is_text and give is None:
        return called
    if key.is_text and give is not None:
        return lambda text, value, *more: called(text, None if value is None else give(value), *more)
    of_row = reader_of_rows(key)

    def read(text: Any) -> Any:
        key = None if text is None else of_row(text)
        return key if give_key is None or key is None else give_key(key)

    if give is None:
        return lambda text, value, *more: called(read(text), value, *more)
    return lambda text, value, *more: called(read(text), None if value is None else give(value), *more)


def _nothing(*_: Any) -> None:
    """Replace the function of a step that calls no function."""


def locate_errors(build: Build, node: Node, work: Callable[[], Any]) -> Any:
    """Return the result of `work`. Add the place of `node` to new graph nodes and to errors. Raises KsmlError."""
    before = len(build.graph.nodes)
    try:
        return work()
    except KsmlError:
        raise
    except TopologyError as error:
        raise node.refuse(str(error).partition(": ")[2]) from error
    except UnknownType as error:
        raise node.refuse(str(error)) from error
    except (ValueError, TypeError) as error:
        raise node.refuse(str(error)) from error
    finally:
        for graph_node in build.graph.nodes[before:]:
            if ".yaml:" not in graph_node.where and ".yml:" not in graph_node.where:
                object.__setattr__(graph_node, "where", f"{node.file}:{node.key_line}")
