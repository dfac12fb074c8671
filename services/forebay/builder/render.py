"""The description of a service as text and as a Mermaid flow chart."""

from __future__ import annotations

from collections.abc import Iterator

from forebay.builder.description import Picture, Sending, StoreFacts, SubTopologyFacts


def as_text(picture: Picture) -> str:
    """Return the description as indented lines."""
    return "\n".join(_lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
    yield f"{picture.service}: {picture.summary}"
    for sub_topology in picture.sub_topologies:
        yield f"  sub-topology {sub_topology.name}" if sub_topology.name else "  sub-topology 0"
        yield from (f"    reads {topic} ({record})" for topic, record in sub_topology.reads)
        labels = {step.ident: f"[{number}]" for number, step in enumerate(sub_topology.steps, 1)}
        for step in sub_topology.steps:
            origin = ", ".join(labels.get(predecessor, predecessor) for predecessor in step.after)
            stores = f"; stores: {', '.join(step.stores)}" if step.stores else ""
            yield f"    {labels[step.ident]} {step.label} <- {origin}{stores}"
        for store in sub_topology.stores:
            yield f"    store {store.name} ({store.record}): {store.kind}; {_changelog(store)}"
        yield f"    tasks' timers, event ids, indexes: changelog {sub_topology.changelog}"
        for kind, leaving in (("sends", sub_topology.sends), ("repartitions", sub_topology.hands_over)):
            yield from (_leaving(kind, sending, labels) for sending in leaving)
    yield f"  failed records: {picture.sides[0]}; late records: {picture.sides[1]}"


def _leaving(kind: str, sending: Sending, labels: dict[str, str]) -> str:
    return f"    {kind} {sending.record} to {sending.to} <- {labels.get(sending.step, sending.step)}"


def as_mermaid(picture: Picture) -> str:
    """Return a Mermaid flow chart with round topics, stores as cylinders and repartitions as hexagons."""
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _chart(picture))])


def _chart(picture: Picture) -> Iterator[str]:
    names = _Names()
    for topic, record in dict(read for sub_topology in picture.sub_topologies for read in sub_topology.reads).items():
        yield f"{names.of(topic)}([{_quote(topic, record)}])"
    for number, sub_topology in enumerate(picture.sub_topologies):
        yield f"subgraph stage{number} [{_quote(f'sub-topology {sub_topology.name or 0}')}]"
        yield from (f"  {line}" for line in _boxes(sub_topology, names))
        yield "end"
    for sub_topology in picture.sub_topologies:
        yield from _arrows(sub_topology, names)


def _boxes(sub_topology: SubTopologyFacts, names: _Names) -> Iterator[str]:
    for step in sub_topology.steps:
        yield f"{names.of(step.ident)}[{_quote(step.label)}]"
    for store in sub_topology.stores:
        yield f"{names.of('store ' + store.name)}[({_quote(store.name, store.kind)})]"


def _changelog(store: StoreFacts) -> str:
    return f"changelog {store.changelog}" if store.changelog else "no changelog: it begins empty at each start"


def _arrows(sub_topology: SubTopologyFacts, names: _Names) -> Iterator[str]:
    for step in sub_topology.steps:
        yield from (f"{names.of(origin)} --> {names.of(step.ident)}" for origin in step.after)
        yield from (f"{names.of(step.ident)} <--> {names.of('store ' + store)}" for store in step.stores)
    for store in sub_topology.stores:
        if not store.changelog:
            continue
        yield f"{names.of('store ' + store.name)} -.-> {names.of(store.changelog)}([{_quote(store.changelog)}])"
    for sending in sub_topology.hands_over:
        yield f"{names.of(sending.to)}{{{{{_quote('repartition ' + sending.to, sending.record)}}}}}"
        yield f"{names.of(sending.step)} --> {names.of(sending.to)}"
    for sending in sub_topology.sends:
        yield f"{names.of(sending.step)} --> {names.of(sending.to)}([{_quote(sending.to, sending.record)}])"


class _Names:
    """Identifiers that Mermaid accepts, by name."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"n{len(self._known)}")


def _quote(*lines: str) -> str:
    return '"' + "<br/>".join(lines).replace('"', "'") + '"'
