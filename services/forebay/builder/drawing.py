"""A topology as a graph to draw: what `forebay topology` prints, each arrow with the name of its rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from forebay.builder.picture import Picture, StageFacts


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one node to another.

    Args:
        rate: kind and name of the counter that it shows; "" where none counts what goes along it.
    """

    tail: str
    head: str
    rate: str = ""
    name: str = ""


def graph_of(picture: Picture) -> dict[str, Any]:
    """Return a topology's nodes, arrows and stages, as JSON can hold them."""
    nodes: dict[str, dict[str, Any]] = {}
    arrows: list[Arrow] = []
    for number, stage in enumerate(picture.stages):
        for topic, record in stage.reads:
            nodes.setdefault(f"topic {topic}", {"kind": "topic", "label": topic, "detail": record})
        _add_stage(nodes, arrows, stage, number)
    return {
        "stages": [
            {
                "number": number,
                "name": stage.name or str(number),
                "changelog": stage.changelog,
                "stores": [asdict(store) for store in stage.stores],
            }
            for number, stage in enumerate(picture.stages)
        ],
        "nodes": [{"id": ident, **node} for ident, node in nodes.items()],
        "arrows": [asdict(arrow) for arrow in arrows],
        "sides": list(picture.sides),
    }


def upstream(graph: dict[str, Any], topics: Iterable[str]) -> dict[str, Any]:
    """Return the part of a graph that these topics get their records from, with its stores."""
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


def _add_stage(
    nodes: dict[str, dict[str, Any]],
    arrows: list[Arrow],
    stage: StageFacts,
    number: int,
) -> None:
    topics = {topic for topic, _ in stage.reads}
    steps = {step.ident: at for at, step in enumerate(stage.steps, 1)}
    for at, step in enumerate(stage.steps, 1):
        nodes[step.ident] = {"kind": "step", "label": step.label, "stage": number}
        for origin in step.after:
            if origin in topics:
                arrow = Arrow(f"topic {origin}", step.ident, "in", origin)
            elif origin in steps:
                arrow = Arrow(origin, step.ident, "passed", f"{number} {steps[origin]} {at}")
            else:
                arrow = Arrow(f"repartition {origin}", step.ident, "handed", origin)
            arrows.append(Arrow(arrow.tail, arrow.head) if origin in step.looks_up else arrow)
    for store in stage.stores:
        ident = f"store {store.name}"
        nodes[ident] = {"kind": "store", "label": store.name, "detail": store.kind, "stage": number}
    for step in stage.steps:
        arrows.extend(Arrow(step.ident, f"store {store}", "puts", store) for store in step.stores)
    for sending in stage.hands_over:
        ident = f"repartition {sending.to}"
        nodes.setdefault(ident, {"kind": "repartition", "label": sending.to, "detail": sending.record})
        arrows.append(Arrow(sending.step, ident, "handed", sending.to))
    for sending in stage.sends:
        ident = f"topic {sending.to}"
        nodes.setdefault(ident, {"kind": "topic", "label": sending.to, "detail": sending.record})
        arrows.append(Arrow(sending.step, ident, "sent", sending.to))
