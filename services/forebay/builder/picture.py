"""What a service consists of, as a picture: from its topology, or from its stages where they are written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.compiled import CompiledStage
from forebay.builder.graph import Kind, Node
from forebay.catalog import Service
from forebay.job import Job
from forebay.processor.api import AnyProcessor
from forebay.processor.engine import declared_stores
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
    """A store: what it is called, holds and is, and the topic that restores it."""

    name: str
    record: str
    kind: str
    changelog: str


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step of a stage.

    Args:
        ident: of the picture's own.
        after: idents of steps, topics and repartitions it gets its records from.
        stores: names of its stores.
    """

    ident: str
    label: str
    after: tuple[str, ...]
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sending:
    """Records that leave a step for a topic or a repartition, by name."""

    step: str
    to: str
    record: str


@dataclass(frozen=True, slots=True)
class StageFacts:
    """A stage: "" is the first one's name, which reads the topics."""

    name: str
    steps: tuple[StepFacts, ...]
    stores: tuple[StoreFacts, ...]
    sends: tuple[Sending, ...]
    hands_over: tuple[Sending, ...]
    changelog: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A service: topics with their records, and stages in order."""

    service: str
    summary: str
    reads: tuple[tuple[str, str], ...]
    stages: tuple[StageFacts, ...]
    sides: tuple[str, ...]


def picture_of(service: Service, job: Job, application: str = "", settings: Any = None) -> Picture:
    """Give a service's picture.

    Args:
        application: prefix of the changelogs; the service's name by default.
        settings: of the logic; its defaults unless given.
    """
    chosen = job.settings() if settings is None else settings
    prefix = application or service.name
    return Picture(
        service.name,
        service.summary,
        tuple((topic, record.__name__) for topic, record in job.inputs.items()),
        tuple(_stage(job, number, job.logic(number)(chosen), prefix) for number in range(len(job.then) + 1)),
        (service.errors.name, service.late.name),
    )


def _stage(job: Job, number: int, processor: AnyProcessor, prefix: str) -> StageFacts:
    name = job.then[number - 1].name if number else ""
    stores = tuple(_store(store, prefix) for _, store in declared_stores(processor))
    changelog = f"{prefix}-{number}-task"
    if isinstance(processor, CompiledStage):
        return _compiled(name, processor, number, stores, changelog)
    step = StepFacts(
        f"s{number}",
        type(processor).__name__,
        (name,) if name else tuple(job.inputs),
        tuple(store.name for store in stores),
    )
    following = job.after(number)
    onward = () if following is None else (Sending(step.ident, following.name, following.record.__name__),)
    last = following is None
    sends = tuple(Sending(step.ident, topic, record.__name__) for topic, record in job.outputs.items() if last)
    return StageFacts(name, (step,), stores, sends, onward, changelog)


def _compiled(
    name: str, stage: CompiledStage, number: int, stores: tuple[StoreFacts, ...], changelog: str
) -> StageFacts:
    idents = {node: node.name for node in stage.entries}
    steps: list[StepFacts] = []
    leaving: dict[Kind, list[Sending]] = {Kind.SINK: [], Kind.REPARTITION: []}
    for node in stage.nodes:
        if node.kind is Kind.STEP:
            idents[node] = ident = f"s{number}n{len(steps)}"
            own = tuple(store.name for store in node.stores)
            steps.append(StepFacts(ident, node.name, _idents(node, idents), own))
        elif node.kind in leaving:
            (step,) = _idents(node, idents)
            leaving[node.kind].append(Sending(step, node.name, node.record.__name__))
    return StageFacts(
        name, tuple(steps), stores, tuple(leaving[Kind.SINK]), tuple(leaving[Kind.REPARTITION]), changelog
    )


def _idents(node: Node, idents: dict[Node, str]) -> tuple[str, ...]:
    return tuple(idents[parent] for parent in node.parents)


def _store(store: Store[Any], prefix: str) -> StoreFacts:
    bounds = [text.format(getattr(store, name)) for name, text in _BOUNDS.items() if hasattr(store, name)]
    kind = _KINDS.get(type(store).__name__, type(store).__name__)
    what = ", ".join([kind, *bounds])
    return StoreFacts(store.name, store.value.__name__, what, f"{prefix}-{store.name}-changelog")
