"""Records and topologies that the builder's tests share: a menu's prices, orders and votes."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.builder import Topology
from forebay.operators import Emission, Fold, Join, counting
from forebay.time import Window, tumbling
from forebay.time.sessions import SessionWindows


@dataclass(frozen=True, slots=True)
class Price:
    price: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Order:
    order_id: str
    customer: str
    quantity: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Bill:
    customer: str
    total: int | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class Vote:
    dish: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Region:
    region: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class VoteChange:
    old: Vote | None
    new: Vote | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class Count:
    count: int


@dataclass(frozen=True, slots=True)
class Total:
    total: int


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    total: int


@dataclass(frozen=True, slots=True)
class Settings:
    history_ms: int = 600_000
    grace_ms: int = 0
    join: Join = Join.INNER
    emission: Emission = Emission.FINAL


SPENT: Fold[Bill, Total] = Fold(
    lambda: Total(0),
    lambda _, bill, total: Total(total.total + (bill.total or 0)),
    merge=lambda _, one, two: Total(one.total + two.total),
)


def bill(order: Order, price: Price | None) -> Bill:
    return Bill(order.customer, None if price is None else order.quantity * price.price, order.timestamp)


def bills(settings: Settings) -> Topology:
    """Bills by item, at the price of each order's time."""
    topology = Topology()
    prices = topology.table("prices", Price, store="prices", history_retention_ms=settings.history_ms)
    orders = topology.stream("orders", Order).filter(lambda _, order: order.quantity > 0)
    orders.join(prices, bill, Bill, kind=settings.join, grace_ms=settings.grace_ms, waiting="waiting").to("bills")
    return topology


def spending(settings: Settings) -> Topology:
    """What each customer spends: in all, by window, by visit."""
    topology = Topology()
    prices = topology.table("prices", Price, store="prices", history_retention_ms=settings.history_ms)
    billed = topology.stream("orders", Order).join(prices, bill, Bill)
    billed.to("bills")
    own = billed.rekey("by-customer", lambda _, bill: bill.customer)
    own.aggregate(SPENT, Total, store="totals").to("totals")
    own.window(tumbling(100, grace_ms=10)).aggregate(
        SPENT, Total, span, Span, store="windows", emission=settings.emission
    ).to("windows")
    own.window(SessionWindows(50, 0)).aggregate(SPENT, Total, span, Span, store="visits").to("visits")
    return topology


def span(_: str, window: Window, total: Total) -> Span:
    return Span(window.start, window.end, total.total)


def votes(settings: Settings) -> Topology:
    """Votes per dish, each customer's latest."""
    topology = Topology()
    table = topology.table("votes", Vote, store="votes", history_retention_ms=settings.history_ms)
    table.group_by("by-dish", lambda _, vote: vote.dish, VoteChange).count(Count, store="counts").to("vote-counts")
    return topology


def counted(_: Settings) -> Topology:
    """Votes as they come, repetitions dropped."""
    topology = Topology()
    stream = topology.stream("votes", Vote).deduplicate(
        lambda _, vote: f"{vote.dish}{vote.timestamp}", store="seen", ttl_ms=50
    )
    stream.count(Count, store="per-customer").to("counts")
    stream.aggregate(counting(Count), Count, store="again").map(lambda _, c: Total(c.count), Total).to("totals")
    return topology
