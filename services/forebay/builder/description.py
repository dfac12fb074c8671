"""The description of a service that `forebay topology` prints: its sub-topologies, steps and stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.builder.nodes import Kind, Node
from forebay.catalog import Service
from forebay.job import Job, SubTopology
from forebay.processor.api import AnyProcessor
from forebay.processor.bound_stores import declared_stores
from forebay.stores.binding import Store

_KINDS = {
    "JoinBuffer": "records waiting for a join",
    "KeyValueStore": "key-value",
    "ListValueStore": "list of values",
    "LruStore": "least recently used",
    "SessionStore": "sessions",
    "SuppressBuffer": "suppressed updates",
    "TimestampedKeyValueStore": "timestamped key-value",
    "TtlKeyValueStore": "key-value with a time to live",
    "VersionedKeyValueStore": "versioned key-value",
    "WindowStore": "windows",
}
_BOUNDS = {
    "size_ms": "size {} ms",
    "retention_ms": "retention {} ms",
    "history_retention_ms": "history {} ms",
    "ttl_ms": "for {} ms",
    "max_entries": "at most {}",
}


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """A store: its name, record type, kind and changelog ("" if it has none)."""

    name: str
    record: str
    kind: str
    changelog: str


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step of a sub-topology.

    Args:
        ident: Id, unique in the description.
        after: Ids of the steps, topics and repartitions that it receives records from or looks up rows in.
        stores: Names of its stores.
        looks_up: Those of `after` in which it only looks up rows.
    """

    ident: str
    label: str
    after: tuple[str, ...]
    stores: tuple[str, ...] = ()
    looks_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sending:
    """Records that a step sends to a topic or repartition."""

    step: str
    to: str
    record: str


@dataclass(frozen=True, slots=True)
class SubTopologyFacts:
    """A sub-topology.

    Args:
        name: Name of the sub-topology; "" for the first one.
        reads: Topics that it reads, with the names of their record types.
        sends: Records that it sends to output topics.
        hands_over: Records that it sends to repartitions.
        changelog: Internal changelog of its tasks.
    """

    name: str
    reads: tuple[tuple[str, str], ...]
    steps: tuple[StepFacts, ...]
    stores: tuple[StoreFacts, ...]
    sends: tuple[Sending, ...]
    hands_over: tuple[Sending, ...]
    changelog: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A service and its sub-topologies, in order.

    Args:
        sides: Names of the dead-letter topic and the late topic.
    """

    service: str
    summary: str
    sub_topologies: tuple[SubTopologyFacts, ...]
    sides: tuple[str, ...]


def picture_of(service: Service, job: Job, application: str = "", settings: Any = None) -> Picture:
    """Return the description of a service.

    Args:
        application: Prefix of the changelogs. By default, the service's name.
        settings: Settings of the logic. By default, the default settings.
    """
    chosen = job.settings() if settings is None else settings
    prefix = application or service.name
    return Picture(
        service.name,
        service.summary,
        tuple(
            _sub_topology(job, number, sub_topology, sub_topology.processor(chosen), prefix)
            for number, sub_topology in enumerate(job.topology)
        ),
        (f"{prefix}.errors", f"{prefix}.late"),
    )


def _sub_topology(
    job: Job, number: int, sub_topology: SubTopology, processor: AnyProcessor, prefix: str
) -> SubTopologyFacts:
    stores = tuple(_store(store, prefix) for _, store in declared_stores(processor))
    changelog = f"{prefix}-{number}-task"
    reads = tuple((topic, record.__name__) for topic, record in sub_topology.inputs.items())
    if isinstance(processor, CompiledSubTopology):
        return _compile(sub_topology.name, reads, processor, number, stores, changelog)
    step = StepFacts(
        f"s{number}",
        type(processor).__name__,
        (*sub_topology.inputs, *sub_topology.repartitions),
        tuple(store.name for store in stores),
    )
    onward = tuple(
        Sending(step.ident, name, after.repartitions[name].__name__)
        for name in sorted(sub_topology.sends)
        for after in job.topology
        if name in after.repartitions
    )
    sends = (
        () if onward else tuple(Sending(step.ident, topic, record.__name__) for topic, record in job.outputs.items())
    )
    return SubTopologyFacts(sub_topology.name, reads, (step,), stores, sends, onward, changelog)


def _compile(
    name: str,
    reads: tuple[tuple[str, str], ...],
    processor: CompiledSubTopology,
    number: int,
    stores: tuple[StoreFacts, ...],
    changelog: str,
) -> SubTopologyFacts:
    entered = (*processor.component.of_kind(Kind.SOURCE), *processor.component.reads)
    idents = {node: node.topics or (node.name,) for node in entered}
    steps: list[StepFacts] = []
    sends: list[Sending] = []
    onward: list[Sending] = []
    for node in processor.nodes:
        if node.kind is Kind.STEP:
            idents[node] = (f"s{number}n{len(steps)}",)
            own = tuple(store.name for store in node.stores)
            before = _idents(node.parents, idents)
            looked_up = tuple(ident for ident in _idents(node.looked_up, idents) if ident not in before)
            steps.append(StepFacts(idents[node][0], node.name, before + looked_up, own, looked_up))
        elif node.kind in (Kind.SINK, Kind.REPARTITION):
            leaving = sends if node.kind is Kind.SINK else onward
            leaving += [
                Sending(step, to, node.value.type.__name__)
                for step in _idents(node.parents, idents)
                for to in node.topics or (node.name,)
            ]
    return SubTopologyFacts(name, reads, tuple(steps), stores, tuple(sends), tuple(onward), changelog)


def _idents(nodes: tuple[Node, ...], idents: dict[Node, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(ident for node in nodes for ident in idents[node])


def _store(store: Store[Any], prefix: str) -> StoreFacts:
    bounds = [text.format(getattr(store, name)) for name, text in _BOUNDS.items() if hasattr(store, name)]
    kind = _KINDS.get(type(store).__name__, type(store).__name__)
    options = store.options
    places = [] if options.persistent is None else ["persistent" if options.persistent else "in memory"]
    caches = [] if options.caching is None else ["cached" if options.caching else "not cached"]
    what = ", ".join([kind, *bounds, *places, *caches])
    changelog = f"{prefix}-{store.name}-changelog" if options.logging else ""
    return StoreFacts(store.name, store.value.__name__, what, changelog)
