"""The topics that can be produced, and the exact records any options give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any

from device_alerts.model import DeviceEvent
from forebay.catalog import Service, all_services
from forebay.plugins import PluginError, attribute_of
from menu_votes.model import CustomerRegion, CustomerVote
from order_payments.model import Payment, PlacedOrder
from order_stores.model import OrderEvent
from price_join.model import FoodOrder, MenuPrice
from producers.base import FIXED_START_MS, Event, Options, Source
from producers.customer_regions import CustomerRegionsGenerator
from producers.customer_votes import CustomerVotesGenerator
from producers.device_events import DeviceEventsGenerator
from producers.disorder import disordered
from producers.food_orders import FoodOrdersGenerator
from producers.menu_prices import MenuPricesGenerator
from producers.movie_ticket_sales import MovieTicketSalesGenerator
from producers.order_events import OrderEventsGenerator
from producers.payments import PaymentsGenerator
from producers.placed_orders import PlacedOrdersGenerator
from producers.readings import ReadingsGenerator
from producers.server_metrics import ServerMetricsGenerator
from producers.user_activity import UserActivityGenerator
from producers.user_clicks import UserClicksGenerator
from sensor_views.model import Reading
from session_analytics.model import UserClick
from ticket_sales.model import MovieTicketSale
from user_sessions.model import UserActivity
from windowed_metrics.model import ServerMetric

SOURCES = {
    source.topic: source
    for source in (
        Source("user_activity", "user-sessions", "UserActivity", UserActivity, UserActivityGenerator, "session_id"),
        Source(
            "server_metrics", "windowed-metrics", "ServerMetric", ServerMetric, ServerMetricsGenerator, "metric_name"
        ),
        Source("user_clicks", "session-analytics", "UserClick", UserClick, UserClicksGenerator, "page"),
        Source("device_events", "device-alerts", "DeviceEvent", DeviceEvent, DeviceEventsGenerator, "event_type"),
        Source("order_events", "order-stores", "OrderEvent", OrderEvent, OrderEventsGenerator, "order_id"),
        Source("menu_prices", "price-join", "MenuPrice", MenuPrice, MenuPricesGenerator, "item"),
        Source("food_orders", "price-join", "FoodOrder", FoodOrder, FoodOrdersGenerator, "item"),
        Source("customer_votes", "menu-votes", "CustomerVote", CustomerVote, CustomerVotesGenerator, "dish"),
        Source("customer_regions", "menu-votes", "CustomerRegion", CustomerRegion, CustomerRegionsGenerator, "region"),
        Source(
            "movie_ticket_sales", "ticket-sales", "MovieTicketSale", MovieTicketSale, MovieTicketSalesGenerator, "title"
        ),
        Source("placed_orders", "order-payments", "PlacedOrder", PlacedOrder, PlacedOrdersGenerator, "order_id"),
        Source("payments", "order-payments", "Payment", Payment, PaymentsGenerator, "payment_id"),
        Source("readings", "sensor-views", "Reading", Reading, ReadingsGenerator, "reading"),
    )
}


def all_sources() -> Mapping[str, Source]:
    """Return SOURCES with those of services that other packages bring, by topic. Raises PluginError."""
    table = dict(SOURCES)
    for service in all_services().values():
        for module in service.producers:
            source = attribute_of(module, "SOURCE", f"{module} (a producer of {service.name})", _line_of(service))
            if source.topic not in {topic.name for topic in service.inputs}:
                raise PluginError(f"{module} makes events for {source.topic}, which {service.name} does not read")
            table.setdefault(source.topic, source)
    return MappingProxyType(table)


def _line_of(service: Service) -> str:
    """Return the line that a producer's module of a service ends with."""
    topic = service.inputs[0]
    return (
        f'SOURCE = Source("{topic.name}", "{service.name}", "{topic.record}", {topic.record}, '
        f'{topic.record}Generator, required_field="...")'
    )


def source_of(topic: str) -> Source:
    """Return the topic's source. Raises ValueError, naming the topics there are; PluginError."""
    if topic in SOURCES:
        return SOURCES[topic]
    table = all_sources()
    if topic not in table:
        raise ValueError(f"nothing produces the topic {topic!r}: choose one of {', '.join(sorted(table))}")
    return table[topic]


def generate(topic: str, options: Options) -> Iterator[Event[Any]]:
    """Return the records for `options` in the order of sending; called again, the same ones.

    The n-th record is due n / rate seconds after the start, and ordinary ones carry that as their event time.
    """
    start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
    ms_per_event = 1000 / options.events_per_second
    indexes = count() if options.limit is None else range(options.limit)
    times = (start_ms + int(index * ms_per_event) for index in indexes)
    return disordered(source_of(topic).generator(options), times, options)
