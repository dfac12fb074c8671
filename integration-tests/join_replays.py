"""The expected results of services with several inputs or tables, by independent replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from service_bench import PARTITIONS, Output, ServiceBench

from forebay.partitioner import partition_of
from forebay.stores.keys import split_key
from tests.menu_votes import replay as menu_votes
from tests.price_join import replay as price_join
from tests.sensor_views import replay as sensor_views
from tests.ticket_sales import replay as ticket_sales

Record = tuple[str, str | None, dict[str, Any] | None, int]
"""Topic, key, value by field name, event time in ms."""


def usable_records(bench: ServiceBench) -> dict[int, list[Record]]:
    """Check the number of invalid records, and return the valid records of all inputs, topic by topic, by partition."""
    records: dict[int, list[Record]] = {partition: [] for partition in range(PARTITIONS)}
    unusable = 0
    for topic in bench.service.inputs:
        result = bench.read_input(topic.name)
        unusable += len(result.unusable)
        for partition, usable in result.records.items():
            records[partition] += [(topic.name, *record) for record in usable]
    assert len(bench.errors()) == unusable > 50
    return records


@dataclass(frozen=True, slots=True)
class Bills:
    """The actual and expected bills of one partition, by the orders' ids, and its task's stream time."""

    actual: list[Output]
    wanted: list[Output]
    stream_time: int


def bills(bench: ServiceBench, grace_ms: int, tasks: int = PARTITIONS, idle_ms: int = 0) -> dict[int, Bills]:
    """Return the actual and expected bills of price-join by partition, without orders whose grace is not over.

    Args:
        idle_ms: Time for which a task may have been idle at the end. Its clock advances during this time
            (semantics.md), so that bills that become due in this time are left out on both sides.
    """
    outputs = bench.outputs()
    of_partitions = usable_records(bench)
    # A join's grace is measured in the time of its stream, which prices don't advance.
    latest = {
        partition: max(time for topic, *_, time in records if topic == "food_orders")
        for partition, records in of_partitions.items()
    }
    compared = {}
    for partition, records in of_partitions.items():
        twice = _given_twice(records)
        stream_time = max(time for other, time in latest.items() if other % tasks == partition % tasks)
        settled = price_join.final_bills(records)
        due = [bill for bill in settled if bill[2] + grace_ms <= stream_time]
        perhaps = [bill for bill in settled if stream_time < bill[2] + grace_ms <= stream_time + idle_ms]
        bills = list(outputs[partition])
        for bill in perhaps:
            if bill in bills:
                bills.remove(bill)
        ours, theirs = (sorted((_one_of(bill, twice) for bill in item), key=_order_of) for item in (bills, due))
        compared[partition] = Bills(ours, theirs, stream_time)
    return compared


def _given_twice(records: list[Record]) -> set[tuple[str | None, int]]:
    """Return the items and times with several prices. It is undetermined which price is valid for an order.

    One price may be repeated late, and the records of the topics of prices and orders are read in any order.
    """
    prices: dict[tuple[str | None, int], set[float]] = {}
    for topic, item, value, timestamp in records:
        if topic == "menu_prices" and value is not None:
            prices.setdefault((item, timestamp), set()).add(value["price"])
    return {place for place, several in prices.items() if len(several) > 1}


def _one_of(bill: Output, twice: set[tuple[str | None, int]]) -> Output:
    """Return a bill without its price if several prices are correct."""
    item, value, timestamp = bill
    if (item, value["price_valid_from"]) not in twice:
        return bill
    return item, {**value, "unit_price": None, "total": None}, timestamp


def check_bills(bench: ServiceBench, grace_ms: int, at_least: int, tasks: int = PARTITIONS, idle_ms: int = 0) -> None:
    """Compare the bills of price-join whose grace is over with the prices of the orders' times."""
    compared = bills(bench, grace_ms, tasks, idle_ms)
    for partition, of_one in compared.items():
        result, wanted = of_one.actual, of_one.wanted
        extra, missing = [[bill for bill in a if bill not in b] for a, b in ((result, wanted), (wanted, result))]
        assert result == wanted, (
            f"partition {partition}: {len(result)} bills, {len(wanted)} wanted, stream time {of_one.stream_time}; "
            f"not wanted: {len(extra)}, such as {extra[:3]}; missing: {len(missing)}, such as {missing[:3]}"
        )
    assert sum(len(of_one.wanted) for of_one in compared.values()) > at_least
    assert bench.late() == []


def check_prices(bench: ServiceBench) -> None:
    """Compare price-join's prices with all prices in the input. Its history must include the first one."""
    prices = bench.changelog("menu-prices")
    for partition, records in usable_records(bench).items():
        results = {(price["item"], price["timestamp"]): price["price"] for price in prices[partition].values()}
        versions = {
            (item, timestamp): None if value is None else value["price"]
            for topic, item, value, timestamp in records
            if topic == "menu_prices"
        }
        assert results == {version: price for version, price in versions.items() if price is not None}


def check_votes(bench: ServiceBench, voters: int) -> None:
    """Compare the counts of menu-votes with each customer's latest vote and region."""
    stores = menu_votes.final_stores([record for records in usable_records(bench).values() for record in records])
    dishes = _last_votes(bench, "vote_counts")
    assert _non_zero(dishes) == _non_zero(stores["dish-counts"])
    regions = {split_key(key): votes for key, votes in _last_votes(bench, "votes_by_region").items() if votes}
    assert regions == _non_zero(stores["region-counts"])
    assert sum(dishes.values()) == len(stores["votes"]) > voters
    assert bench.late() == []


def check_payments(bench: ServiceBench, at_least: int) -> None:
    """Compare the outputs of order-payments with every pair of an order and its payment. No pair is too far apart."""
    orders: dict[str, dict[str, Any]] = {}
    payments: dict[str, dict[str, Any]] = {}
    for records in usable_records(bench).values():
        for topic, _, value, _ in records:
            assert value is not None
            known, name = (orders, "order_id") if topic == "placed_orders" else (payments, "payment_id")
            known.setdefault(value[name], value)
    wanted = [
        (name, payment["order_id"], payment["amount"], orders[payment["order_id"]]["amount"])
        for name, payment in payments.items()
        if payment["order_id"] in orders
    ]
    values = [value for outputs in bench.outputs().values() for _, value, _ in outputs]
    rows = [(value["payment_id"], value["order_id"], value["paid"], value["amount"]) for value in values]
    assert sorted(rows) == sorted(wanted)
    assert all(value["status"] == ("PAID" if value["paid"] >= value["amount"] else "PARTLY_PAID") for value in values)
    assert len(wanted) > at_least
    assert bench.late() == []


def check_sales(bench: ServiceBench, at_least: int) -> None:
    """Compare the changes of ticket-sales that compaction has not removed with those of the replay."""
    records = [record[1:] for of_partition in usable_records(bench).values() for record in of_partition]
    wanted, stores = ticket_sales.replay(records, task_of=lambda key: partition_of(key.encode(), PARTITIONS))
    every = _without_times(wanted)
    result = _without_times([output for outputs in bench.outputs().values() for output in outputs])
    assert result.keys() == every.keys()
    for title, changes in result.items():
        assert changes[-1] == every[title][-1]
        left = iter(every[title])
        assert all(change in left for change in changes), f"{title}: a change is repeated, wrong or out of order"
    assert {title: changes[-1][2] for title, changes in result.items()} == stores["tickets-sold"]
    assert len(wanted) > at_least


def check_averages(bench: ServiceBench, at_least: int) -> None:
    """Compare the last rows of sensor-views, and the stored totals behind them, with the replay.

    The readings of a sensor are in one partition, so its remaining rows after compaction are also compared in order.
    The last row of an area does not depend on the order of its sensors' readings, because sums are exact.
    """
    records = [record[1:] for of_partition in usable_records(bench).values() for record in of_partition]
    wanted, totals = sensor_views.replay(records, task_of=lambda key: partition_of(key.encode(), PARTITIONS))
    for view, groups in totals.items():
        rows = _rows([output for outputs in bench.outputs(view).values() for output in outputs])
        assert {group: values[-1] for group, values in rows.items()} == {group: t[0] for group, t in groups.items()}
        changelog = bench.changelog(view.replace("_", "-")).values()
        stored = {group.decode(): row for rows_of_task in changelog for group, row in rows_of_task.items()}
        assert sensor_views.stored_totals(stored) == groups
        if view == "avg_readings":
            every = _rows([output[1:] for output in wanted if output[0] == view])
            for sensor, averages in rows.items():
                left = iter(every[sensor])
                assert all(average in left for average in averages), f"{sensor}: an average is wrong or out of order"
    assert len(wanted) > 2 * at_least
    assert bench.late() == []


CHECKS: Mapping[str, Callable[[ServiceBench], None]] = {
    "price-join": lambda bench: check_bills(bench, grace_ms=1_000, at_least=1_000, idle_ms=1_000),
    "menu-votes": lambda bench: check_votes(bench, voters=100),
    "ticket-sales": lambda bench: check_sales(bench, at_least=1_000),
    "sensor-views": lambda bench: check_averages(bench, at_least=1_000),
}
"""Checks of services after a bounded run of the producer of each input, one after the other."""


def _order_of(bill: tuple[str, dict[str, Any], int]) -> tuple[str, str]:
    return bill[1]["order_id"], bill[0]


def _last_votes(bench: ServiceBench, topic: str) -> dict[str, int]:
    return {key: value["votes"] for outputs in bench.outputs(topic).values() for key, value, _ in outputs}


def _non_zero(counts: dict[Any, int]) -> dict[Any, int]:
    return {group: votes for group, votes in counts.items() if votes}


def _without_times(outputs: list[tuple[str, dict[str, Any], int]]) -> dict[str, list[tuple[Any, Any, Any]]]:
    """Return operation, before and after of each title's changes in order. Times depend on the order of sales."""
    titles: dict[str, list[tuple[Any, Any, Any]]] = {}
    for title, change, _ in outputs:
        titles.setdefault(title, []).append((change["operation"], change["before"], change["after"]))
    return titles


def _rows(outputs: list[tuple[str, dict[str, Any], int]]) -> dict[str, list[float]]:
    """Return the averages of each group's rows in order."""
    groups: dict[str, list[float]] = {}
    for group, row, _ in outputs:
        groups.setdefault(group, []).append(row["avg_reading"])
    return groups
