"""The table of services: what the CLI, jobs, producers, charts and documentation read.

Adding a service is one entry here and one folder beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from forebay.job import load_job
from forebay.limits import CHANGELOG_MAX_BYTES, SIDE_MAX_BYTES
from forebay.names import check_name
from forebay.plugins import PluginError, brought, package_of

TIMESTAMPS: Mapping[str, str] = MappingProxyType(
    {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(2**63 - 1)}
)
"""Of topics that a job writes: times are those of events, whatever a broker's defaults say of them."""

KEEP_FOREVER: Mapping[str, str] = MappingProxyType({"retention.ms": "-1"})
COMPACTED: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "compact", "max.message.bytes": str(CHANGELOG_MAX_BYTES), **TIMESTAMPS}
)
REPARTITION: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(CHANGELOG_MAX_BYTES), **TIMESTAMPS}
)
"""Kept until the job has used them, and then deleted by it."""
SIDE_TOPIC: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(SIDE_MAX_BYTES), **TIMESTAMPS}
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the table.

    Args:
        name: the topic's name.
        record: name of its values' contract in avro/<service>/; "" where values are bytes as they came.
        partitions: how many it is created with.
        config: topic configuration it is created with.
        own: whether it is a job's own, with a partition for each task and never another number.

    Raises:
        IllegalName: Kafka has no topics of that name. ValueError: it would have no partition.
    """

    name: str
    record: str = ""
    partitions: int = 4
    config: Mapping[str, str] = field(default_factory=lambda: KEEP_FOREVER)
    own: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.partitions < 1:
            raise ValueError(f"the topic {self.name} has {self.partitions} partitions: write partitions=1 or more")


@dataclass(frozen=True, slots=True)
class Service:
    """One service: a Spark job with its topics and stores.

    Args:
        name: as given to the CLI; also the contracts' folder and the default application id.
        summary: what it does, in a line.
        inputs: topics it reads; co-partitioned.
        outputs: topics it writes; the first is the one results go to by default. Their configuration says TIMESTAMPS
            unless it says otherwise.
        stores: its stores' names with the contracts of their values.
        job: module that wires model and logic (`JOB`).
        stages: number of processors in a chain, each behind a repartition of what the one before forwards.
        producers: modules that make events for its inputs (`SOURCE`).
        application: id of the job that it is looked at for; "" for its name (see as_application).
        contracts: folder of its contracts' files; "": avro/<name>/, or beside its job where that is not there.
        columns: module that says which fields the demo shows of its outputs (`COLUMNS`); "": it shows the first ones.

    Raises:
        IllegalName: its name or a store's, which topics are named after, is none that Kafka takes.
    """

    name: str
    summary: str
    inputs: tuple[Topic, ...]
    outputs: tuple[Topic, ...]
    stores: Mapping[str, str]
    job: str
    stages: int = 1
    producers: tuple[str, ...] = ()
    application: str = ""
    contracts: str = ""
    columns: str = ""

    def __post_init__(self) -> None:
        for name in (self.name, *self.stores):
            check_name(name)
        outputs = (dataclasses.replace(topic, config={**TIMESTAMPS, **topic.config}) for topic in self.outputs)
        object.__setattr__(self, "outputs", tuple(outputs))

    @property
    def output(self) -> Topic:
        """The topic results go to by default."""
        return self.outputs[0]

    @property
    def package(self) -> str:
        """The package its job is in."""
        return package_of(self.job)

    @property
    def errors(self) -> Topic:
        """Records that could not be used."""
        return Topic(f"{self.application or self.name}.errors", partitions=1, config=SIDE_TOPIC)

    @property
    def late(self) -> Topic:
        """Records that came too late."""
        return Topic(f"{self.application or self.name}.late", partitions=1, config=SIDE_TOPIC)

    def as_application(self, application: str) -> Service:
        """Return the service as that job sees it: records that it can't use are its own."""
        return self if application == self.application else dataclasses.replace(self, application=application)

    def changelogs(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the changelog topics of a job with that application id: one partition per task."""
        stores = [
            Topic(f"{application}-{store}-changelog", record, tasks, COMPACTED, own=True)
            for store, record in self.stores.items()
        ]
        stages = [Topic(f"{application}-{stage}-task", "", tasks, COMPACTED, own=True) for stage in range(self.stages)]
        return (*stores, *stages)

    def repartitions(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the topics between the job's sub-topologies: one partition per task."""
        job = load_job(self.job)
        records = {
            name: job.contract(name, record) for part in job.topology for name, record in part.repartitions.items()
        }
        return tuple(
            Topic(f"{application}-{name}-repartition", record, tasks, REPARTITION, own=True)
            for name, record in records.items()
        )

    def own_topics(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the topics that only this job uses: changelogs and repartitions."""
        return (*self.changelogs(application, tasks), *self.repartitions(application, tasks))

    def topics(self, application: str = "", tasks: int = 0) -> tuple[Topic, ...]:
        """Return every topic of a job, its own with a partition per task (0: as many as its first input has)."""
        own = self.own_topics(application or self.name, tasks or self.inputs[0].partitions)
        sides = self.as_application(application)
        return (*self.inputs, *self.outputs, sides.errors, sides.late, *own)


SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        service.name: service
        for service in (
            Service(
                name="user-sessions",
                summary="session statistics of each user, after every activity and every idle end",
                inputs=(Topic("user_activity", "UserActivity"),),
                outputs=(Topic("user_session_stats", "UserSessionStats"),),
                stores={"user-profiles": "UserProfile"},
                job="user_sessions.job",
            ),
            Service(
                name="windowed-metrics",
                summary="statistics and alert states of each server's metrics in windows of five minutes",
                inputs=(Topic("server_metrics", "ServerMetric"),),
                outputs=(Topic("windowed_metrics", "WindowedMetric"),),
                stores={"metric-windows": "MetricWindow"},
                job="windowed_metrics.job",
            ),
            Service(
                name="session-analytics",
                summary="the figures of each user's session, after every click and once when it ended",
                inputs=(Topic("user_clicks", "UserClick"),),
                outputs=(Topic("session_analytics", "SessionAnalytics"),),
                stores={"sessions": "ClickSession", "profiles": "ClickProfile"},
                job="session_analytics.job",
            ),
            Service(
                name="device-alerts",
                summary="alerts of each device: hot readings, status changes, errors, heartbeats, silence and return",
                inputs=(Topic("device_events", "DeviceEvent"),),
                outputs=(Topic("device_alerts", "DeviceAlert"),),
                stores={"devices": "Device"},
                job="device_alerts.job",
            ),
            Service(
                name="order-stores",
                summary="orders, their products' stock and their customers' totals, after every event of an order",
                inputs=(Topic("order_events", "OrderEvent"),),
                outputs=(Topic("order_processing_results", "OrderProcessingResult"),),
                stores={"orders": "Order", "inventory": "ProductStock", "customers": "Customer"},
                job="order_stores.job",
                stages=3,
            ),
            Service(
                name="price-join",
                summary="bills of orders at the price each item had when it was ordered",
                inputs=(Topic("menu_prices", "MenuPrice"), Topic("food_orders", "FoodOrder")),
                outputs=(Topic("food_bills", "FoodBill"),),
                stores={"menu-prices": "MenuPrice", "waiting-orders": "FoodOrder"},
                job="price_join.job",
            ),
            Service(
                name="menu-votes",
                summary="votes per dish, and per region and dish, by each customer's latest vote and region",
                inputs=(Topic("customer_votes", "CustomerVote"), Topic("customer_regions", "CustomerRegion")),
                outputs=(
                    Topic("vote_counts", "VoteCount", config=COMPACTED),
                    Topic("votes_by_region", "RegionVoteCount", config=COMPACTED),
                ),
                stores={
                    "votes": "CustomerVote",
                    "regions": "CustomerRegion",
                    "dish-counts": "VoteCount",
                    "region-counts": "RegionVoteCount",
                },
                job="menu_votes.job",
                stages=3,
            ),
            Service(
                name="ticket-sales",
                summary="tickets sold per title, every change as a change event",
                inputs=(Topic("movie_ticket_sales", "MovieTicketSale"),),
                outputs=(Topic("movie_tickets_sold", "TicketsSoldChange", config=COMPACTED),),
                stores={"tickets-sold": "TicketsSold"},
                job="ticket_sales.job",
                stages=2,
            ),
            Service(
                name="order-payments",
                summary="each order with its payments, and orders that nobody paid in time",
                inputs=(Topic("placed_orders", "PlacedOrder"), Topic("payments", "Payment")),
                outputs=(Topic("order_payments", "OrderPayment"),),
                stores={
                    "orders-payments-left": "PlacedOrder",
                    "orders-payments-right": "Payment",
                    "orders-payments-left-waiting": "PlacedOrder",
                },
                job="order_payments.job",
            ),
            Service(
                name="sensor-views",
                summary="average readings per sensor and per area, kept by SQL views",
                inputs=(Topic("readings", "Reading"),),
                outputs=(
                    Topic("avg_readings", "AvgReadings", config=COMPACTED),
                    Topic("part_avg", "PartAvg", config=COMPACTED),
                ),
                stores={"avg-readings": "AvgReadingsTotals", "part-avg": "PartAvgTotals"},
                job="sensor_views.job",
                stages=2,
            ),
        )
    }
)


class UnknownService(ValueError):
    """No service of that name; the message names those there are."""


def all_services() -> Mapping[str, Service]:
    """Return the table with the services that other packages bring (see forebay.plugins) at its end.

    Raises:
        PluginError: one of them can't be used.
    """
    table = dict(SERVICES)
    for place, service in brought():
        if not isinstance(service, Service):
            raise PluginError(f"SERVICE of {place} is no forebay.catalog.Service: see docs/new-service.md")
        if service.name in table:
            raise PluginError(f"{place} brings a second service {service.name!r}: give it another name")
        table[service.name] = service
    return MappingProxyType(table)


def find_service(name: str) -> Service:
    """Return a service of the table. Raises UnknownService, PluginError."""
    if name in SERVICES:
        return SERVICES[name]
    table = all_services()
    if name not in table:
        raise UnknownService(f"there is no service {name!r}: choose one of {', '.join(table)}")
    return table[name]
