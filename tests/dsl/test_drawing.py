"""A topology as a graph to draw: all that `forebay topology` prints is in it, and every arrow has both its ends."""

from __future__ import annotations

import pytest

from forebay.builder.drawing import graph_of
from forebay.builder.picture import picture_of
from forebay.catalog import all_services, find_service
from forebay.job import load_job


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


def test_what_is_handed_over_has_its_rate_on_both_sides() -> None:
    service = find_service("order-stores")
    graph = graph_of(picture_of(service, load_job(service.job)))
    rates = {(arrow["tail"], arrow["head"]): (arrow["rate"], arrow["name"]) for arrow in graph["arrows"]}
    assert rates["s0", "repartition products"] == rates["repartition products", "s1"] == ("handed", "products")
