"""A topology as nodes and arrows, for drawing. Each arrow names the counter that shows its rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from forebay.builder.description import Picture, SubTopologyFacts


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from one node to another.

    Args:
        rate: Kind of the counter that it shows; "" if its records are not counted.
        name: Name of the counter.
    """

    tail: str
    head: str
    rate: str = ""
    name: str = ""


def graph_of(picture: Picture) -> dict[str, Any]:
    """Return a topology's nodes, arrows and sub-topologies as a value that JSON can represent."""
    nodes: dict[str, dict[str, Any]] = {}
    arrows: list[Arrow] = []
    for number, sub_topology in enumerate(picture.sub_topologies):
        for topic, record in sub_topology.reads:
            nodes.setdefault(f"topic {topic}", {"kind": "topic", "label": topic, "detail": record})
        _add_sub_topology(nodes, arrows, sub_topology, number)
    return {
        "stages": [
            {
                "number": number,
                "name": sub_topology.name or str(number),
                "changelog": sub_topology.changelog,
                "stores": [asdict(store) for store in sub_topology.stores],
            }
            for number, sub_topology in enumerate(picture.sub_topologies)
        ],
        "nodes": [{"id": ident, **node} for ident, node in nodes.items()],
        "arrows": [asdict(arrow) for arrow in arrows],
        "sides": list(picture.sides),
    }


def upstream(graph: dict[str, Any], topics: Iterable[str]) -> dict[str, Any]:
    """Return the part of a graph from which these topics get their records, including its stores."""
    reached: set[str] = set()
    further = {f"topic {topic}" for topic in topics}
    while further:
        reached |= further
        further = {arrow["tail"] for arrow in graph["arrows"] if arrow["head"] in further} - reached
    steps = {node["id"] for node in graph["nodes"] if node["kind"] == "step"} & reached
    stores = {node["id"] for node in graph["nodes"] if node["kind"] == "store"}
    reached |= {arrow["head"] for arrow in graph["arrows"] if arrow["tail"] in steps and arrow["head"] in stores}
    return {
        **graph,
        "nodes": [node for node in graph["nodes"] if node["id"] in reached],
        "arrows": [arrow for arrow in graph["arrows"] if {arrow["tail"], arrow["head"]} <= reached],
    }


def _add_sub_topology(
    nodes: dict[str, dict[str, Any]],
    arrows: list[Arrow],
    sub_topology: SubTopologyFacts,
    number: int,
) -> None:
    topics = {topic for topic, _ in sub_topology.reads}
    steps = {step.ident: at for at, step in enumerate(sub_topology.steps, 1)}
    for at, step in enumerate(sub_topology.steps, 1):
        nodes[step.ident] = {"kind": "step", "label": step.label, "stage": number}
        for origin in step.after:
            if origin in topics:
                arrow = Arrow(f"topic {origin}", step.ident, "in", origin)
            elif origin in steps:
                arrow = Arrow(origin, step.ident, "passed", f"{number} {steps[origin]} {at}")
            else:
                arrow = Arrow(f"repartition {origin}", step.ident, "handed", origin)
            arrows.append(Arrow(arrow.tail, arrow.head) if origin in step.looks_up else arrow)
    for store in sub_topology.stores:
        ident = f"store {store.name}"
        nodes[ident] = {"kind": "store", "label": store.name, "detail": store.kind, "stage": number}
    for step in sub_topology.steps:
        arrows.extend(Arrow(step.ident, f"store {store}", "puts", store) for store in step.stores)
    for sending in sub_topology.hands_over:
        ident = f"repartition {sending.to}"
        nodes.setdefault(ident, {"kind": "repartition", "label": sending.to, "detail": sending.record})
        arrows.append(Arrow(sending.step, ident, "handed", sending.to))
    for sending in sub_topology.sends:
        ident = f"topic {sending.to}"
        nodes.setdefault(ident, {"kind": "topic", "label": sending.to, "detail": sending.record})
        arrows.append(Arrow(sending.step, ident, "sent", sending.to))
