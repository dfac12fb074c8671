"""Ordinary topologies that pass strict type checks without annotations in lambdas."""

from __future__ import annotations

from forebay.builder import Topology, ValueTransformer
from forebay.operators import Fold
from forebay.processor import Context, Processor, Timer
from forebay.records import Record
from forebay.serde.json_format import JSON
from forebay.stores import KeyValueStore
from forebay.time import SessionWindows, tumbling, within


class Order(Record):
    id: str
    customer: str
    amount: float


class Customer(Record):
    id: str
    name: str


class Priced(Record):
    id: str
    name: str | None


def price(order: Order, customer: Customer | None) -> Priced | None:
    return None if customer is None else Priced(id=order.id, name=customer.name)


t = Topology()
orders = t.stream("orders", Order)
customers = t.table("customers", Customer, store="customers")
left = orders.left_join(
    customers, lambda order, customer: None if customer is None else Priced(id=order.id, name=customer.name), Priced
)
named = orders.left_join(customers, price, Priced)
left.to("priced")
expected_join = orders.join(customers, lambda order, customer: Priced(id=order.id, name=customer.name), Priced)
expected_join.peek(lambda key, priced: print(key, priced.id)).to(
    lambda key, priced: "a" if priced.name else "b", topics=["a", "b"]
)
orders.join(orders, lambda a, b: a.amount + b.amount, float, windows=within(5), store="j").peek(
    lambda k, v: print(k.upper(), v + 1)
).to("sums")
sums = orders.group_by_key().aggregate(
    Fold(lambda: 0.0, lambda key, order, total: total + order.amount), float, store="totals"
)
sums.to_stream().filter(lambda key, total: total > 1).to("totals")
windowed = (
    orders.group_by(lambda _, order: order.customer, str)
    .windowed_by(tumbling(5))
    .aggregate(Fold(lambda: 0, lambda _, order, n: n + int(order.amount)), int, store="w")
)
windowed.to_stream().map(lambda key, n: (key.key, n), int, str).to("windowed")
sess = (
    orders.group_by_key()
    .windowed_by(SessionWindows(5))
    .aggregate(Fold(lambda: 0, lambda _, o, n: n + 1, None, lambda _, a, b: a + b), int, store="s")
)
tt = customers.left_join(
    sums, lambda customer, total: None if total is None else Priced(id=customer.id, name=str(total)), Priced
)
tj = customers.join(sums, lambda customer, total: f"{customer.name} {total}", str)
tj.to_stream().to("tj")
oo = customers.outer_join(sums, lambda c, total: (c.name if c else "") + str(total or 0), str)
fk = t.table("o2", Order, store="o2").join_by_foreign_key(
    customers, lambda _, o: o.customer, lambda o, c: f"{o.id} {c.name}", str, store="fk"
)
fkl = t.table("o3", Order, store="o3").left_join_by_foreign_key(
    customers, lambda _, o: o.customer, lambda o, c: f"{o.id} {c.name if c else ''}", str, store="fkl"
)
grouped = customers.group_by(lambda _, c: c.name, str).aggregate(
    Fold(lambda: 0, lambda _, c, n: n + 1, lambda _, c, n: n - 1), int, store="g"
)


class Seen(Processor[Order, Priced]):
    seen = KeyValueStore("seen", int)

    def process(self, order: Order, context: Context[Priced]) -> None:
        self.seen.put(context.key, (self.seen.get(context.key) or 0) + 1)
        context.schedule("later", order_time(order))

    def on_timer(self, due: Timer, context: Context[Priced]) -> None:
        context.forward(Priced(id=due.key, name=None))


def order_time(order: Order) -> int:
    return int(order.amount)


class Cents(ValueTransformer[str, Customer, int]):
    def transform(self, name: str, row: Customer | None, context: Context[int]) -> int | None:
        return None if row is None else len(row.name)


orders.process(Seen, Priced, name="seen").to("seen")
customers.transform_values(Cents, int, store="cents").to_stream().to("cents")
branches = orders.split().branch("big", lambda _, o: o.amount > 5).default_branch("small")
branches["big"].to("big")
orders.merge(branches["small"]).map_values(lambda _, o: {"id": o.id}, JSON).to("json")
orders.repartition("r", partitioner=lambda key, order: len(order.customer)).to("rp")
orders.foreach(lambda key, order: print(order.id))
orders.select_key(lambda _, o: o.customer, str).left_join(customers, price, Priced).to("x")
