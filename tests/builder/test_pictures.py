"""A topology prints itself, with its stores, repartitions and changelogs; so does a service written by hand."""

from __future__ import annotations

import pytest

from forebay.builder import job
from forebay.builder.picture import Picture, picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import SERVICES, Service, Topic
from forebay.cli.main import run
from forebay.job import load_job
from tests.builder import menu
from tests.builder.menu import Settings

SPENDING = Service("spending", "what customers spend", (Topic("orders"),), (Topic("totals"),), {}, "no.module")


def spending() -> Picture:
    return picture_of(SPENDING, job(Settings, menu.spending), "shop")


def test_a_topology_as_text() -> None:
    assert (
        as_text(spending())
        == """\
spending: what customers spend
  stage 0, tasks by partition
    reads prices (Price)
    reads orders (Order)
    [1] table prices <- prices; keeps prices
    [2] join prices (inner) <- orders
    [3] rekey by-customer <- [2]
    store prices (Price): versioned key-value, history 600000 ms; changelog shop-prices-changelog
    tasks' timers, event ids, indexes: changelog shop-0-task
    sends Bill to bills <- [2]
    hands over in the batch, by key, Bill to by-customer <- [3]
  stage by-customer, records repartitioned by key
    [1] aggregate to Total <- by-customer; keeps totals
    [2] aggregate to Span by window <- by-customer; keeps windows
    [3] aggregate to Span by session <- by-customer; keeps visits
    store totals (Total): timestamped key-value; changelog shop-totals-changelog
    store windows (Total): windows, size 100 ms, retention 110 ms; changelog shop-windows-changelog
    store visits (Total): sessions, retention 50 ms; changelog shop-visits-changelog
    tasks' timers, event ids, indexes: changelog shop-1-task
    sends Total to totals <- [1]
    sends Span to windows <- [2]
    sends Span to visits <- [3]
  records that can't be used: spending.errors; too late: spending.late"""
    )


def test_a_topology_as_a_flow_chart() -> None:
    lines = as_mermaid(spending()).splitlines()
    assert lines[:9] == [
        "flowchart LR",
        '  n0(["prices<br/>Price"])',
        '  n1(["orders<br/>Order"])',
        '  subgraph stage0 ["stage 0"]',
        '    n2["table prices"]',
        '    n3["join prices (inner)"]',
        '    n4["rekey by-customer"]',
        '    n5[("prices<br/>versioned key-value, history 600000 ms")]',
        "  end",
    ]
    repartition = next(line for line in lines if "repartition by-customer<br/>Bill" in line).strip()
    ident = repartition.split("{")[0]
    assert repartition.startswith(f"{ident}{{{{")
    assert f"  n4 --> {ident}" in lines
    assert sum(line.startswith(f"  {ident} --> ") for line in lines) == 3
    assert sum("changelog" in line for line in lines) == 4


def test_every_arrow_of_a_flow_chart_joins_boxes_that_are_drawn() -> None:
    for service in SERVICES.values():
        chart = as_mermaid(picture_of(service, load_job(service.job)))
        drawn, joined = set(), set()
        for line in chart.splitlines()[1:]:
            for part in line.replace("<-->", "|").replace("-.->", "|").replace("-->", "|").split("|"):
                ident = part.strip().split("(")[0].split("[")[0].split("{")[0]
                (drawn if ident != part.strip() else joined).add(ident)
        assert joined - {"end"} <= drawn


def test_a_service_written_by_hand_shows_its_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "menu-votes", "--application", "votes-2"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "reads customer_votes (CustomerVote)",
        "[1] MenuVotes <- customer_votes, customer_regions; keeps votes, regions",
        "hands over in the batch, by key, CountStep to counts <- [1]",
        "stage counts, records repartitioned by key",
        "changelog votes-2-dish-counts-changelog",
        "sends RegionVoteCount to votes_by_region <- [1]",
    ):
        assert line in shown


def test_the_command_draws_a_flow_chart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "price-join", "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart LR\n")


def test_an_unknown_service_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "nothing"]) == 2
    assert "there is no service 'nothing'" in capsys.readouterr().err
