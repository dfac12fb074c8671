"""A drawn topology has everything that `forebay topology` prints, and both ends of every arrow."""

from __future__ import annotations

from collections import Counter

import pytest

from forebay.builder import Topology
from forebay.builder.description import picture_of
from forebay.builder.drawing import graph_of
from forebay.catalog import all_services, find_service
from forebay.job import load_job
from tests.dsl.driving import Driven


@pytest.mark.parametrize("name", list(all_services()))
def test_every_service_can_be_drawn(name: str) -> None:
    service = find_service(name)
    picture = picture_of(service, load_job(service.job))
    graph = graph_of(picture)
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert all(arrow["tail"] in nodes and arrow["head"] in nodes for arrow in graph["arrows"])
    assert {node["label"] for node in graph["nodes"] if node["kind"] == "store"} == set(service.stores)
    topics = {node["label"] for node in graph["nodes"] if node["kind"] == "topic"}
    assert topics == {topic.name for topic in (*service.inputs, *service.outputs)}
    drawn = {(arrow["tail"], arrow["head"]) for arrow in graph["arrows"]}
    assert len(drawn) == len(graph["arrows"]), "an arrow is drawn once"
    looked_up = {step.ident: step.looks_up for sub_topology in picture.sub_topologies for step in sub_topology.steps}
    for arrow in graph["arrows"]:
        assert bool(arrow["rate"]) != (arrow["tail"] in looked_up.get(arrow["head"], ())), arrow


def test_repartitioned_records_have_a_rate_on_both_sides() -> None:
    service = find_service("order-stores")
    graph = graph_of(picture_of(service, load_job(service.job)))
    rates = {(arrow["tail"], arrow["head"]): (arrow["rate"], arrow["name"]) for arrow in graph["arrows"]}
    assert rates["s0", "repartition products"] == rates["repartition products", "s1"] == ("handed", "products")


def test_records_between_steps_are_counted_along_their_edge() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        table = t.table("names", str, store="names")
        long = words.filter(lambda _, v: len(v) > 1)
        short = words.filter_not(lambda _, v: len(v) > 1)
        both = long.merge(short).map_values(lambda _, v: v.upper(), str)
        both.join(table, lambda v, name: v + name, str).to("out")

    run = Driven(build, tasks=2)
    run.feed("names", ("a", "x", 1))
    run.feed("in", ("a", "ab", 2), ("b", "abc", 3), ("a", "c", 4))
    graph = graph_of(picture_of(find_service("order-stores"), run.job))
    labels = {node["id"]: node["label"] for node in graph["nodes"]}
    passed = Counter[str]()
    for engine in run.driver.sub_topologies[0].engines:
        passed.update({f"0 {numbers}": count for numbers, count in engine.processor.edge_counts().items()})
    results = {
        (labels[arrow["tail"]], labels[arrow["head"]]): passed[arrow["name"]] if arrow["rate"] else "looked up"
        for arrow in graph["arrows"]
        if arrow["rate"] in ("passed", "")
    }
    join = "join table names (inner)"
    assert results == {
        ("filter", "merge"): 2,
        ("filter not", "merge"): 1,
        ("merge", "map to text"): 3,
        ("map to text", join): 3,
        ("table names", join): "looked up",
    }
