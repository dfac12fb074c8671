"""A topology's description lists its sub-topologies, stores, repartitions and changelogs."""

from __future__ import annotations

import pytest

from forebay.builder import Topology
from forebay.builder.description import Picture, picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service, Topic, all_services
from forebay.cli.main import run
from forebay.job import load_job
from tests.dsl.driving import Driven

SERVICES = all_services()

COUNTING = Service("counting", "counts words", (Topic("in"),), (Topic("counts"),), {}, "no.module")


def describe(t: Topology) -> None:
    regions = t.table("regions", str, store="regions", history_retention_ms=50)
    words = t.stream("in", str)
    words.join(regions, lambda word, region: word + region, str).to("joined")
    words.group_by(lambda _, word: word, str).count(store="n").to_stream().to("counts")


def counting() -> Picture:
    return picture_of(COUNTING, Driven(describe).job, "shop")


def test_a_topology_as_text() -> None:
    assert (
        as_text(counting())
        == """\
counting: counts words
  sub-topology 0
    reads regions (str)
    reads in (str)
    [1] table regions <- regions; stores: regions
    [2] join table regions (inner) <- in, [1]
    [3] select key <- in
    store regions (str): versioned key-value, history 50 ms; changelog shop-regions-changelog
    tasks' timers, event ids, indexes: changelog shop-0-task
    sends str to joined <- [2]
    repartitions str to n <- [3]
  sub-topology n
    [1] aggregate to long <- n; stores: n
    [2] to stream <- [1]
    store n (int): timestamped key-value; changelog shop-n-changelog
    tasks' timers, event ids, indexes: changelog shop-1-task
    sends int to counts <- [2]
  failed records: shop.errors; late records: shop.late"""
    )


def test_every_arrow_of_a_flow_chart_joins_boxes_that_are_drawn() -> None:
    pictures = [picture_of(service, load_job(service.job)) for service in SERVICES.values()]
    for picture in (counting(), *pictures):
        drawn: set[str] = set()
        expected_join: set[str] = set()
        for line in as_mermaid(picture).splitlines()[1:]:
            for part in line.replace("<-->", "|").replace("-.->", "|").replace("-->", "|").split("|"):
                ident = part.strip().split("(")[0].split("[")[0].split("{")[0]
                (drawn if ident != part.strip() else expected_join).add(ident)
        assert expected_join - {"end"} <= drawn


def test_a_service_written_by_hand_shows_its_sub_topologies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "order-stores", "--application", "orders-2"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "reads order_events (OrderEvent)",
        "[1] Orders <- order_events",
        "repartitions ProductStep to products <- [1]",
        "sub-topology products",
        "changelog orders-2-",
    ):
        assert line in shown


def test_the_command_draws_a_flow_chart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "price-join", "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart LR\n")


def test_an_unknown_service_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "nothing"]) == 2
    assert "there is no service 'nothing'" in capsys.readouterr().err
