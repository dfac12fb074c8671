"""Which fields of a service's results the demo shows, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from forebay.demo import units

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a result.

    Args:
        title: the column's heading.
        path: names that lead to the field, joined by dots.
        width: characters it takes.
        show: gives the field's value as text; missing ones are empty.
    """

    title: str
    path: str
    width: int
    show: Callable[[Any], str] = str

    def text(self, record: Record) -> str:
        """Return the field as text."""
        value: Any = record
        for name in self.path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return "" if value is None else self.show(value)


def _duration(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _ms(ms: float) -> str:
    return f"{ms:,.0f} ms"


def _clock(ms: int) -> str:
    return units.clock(ms / 1000)


def _money(amount: Decimal | float) -> str:
    return f"{amount:,.2f}"


def _list(items: list[str]) -> str:
    return " ".join(items)


_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "user_session_stats": (
        Column("user", "user_id", 11),
        Column("last action", "activity.action", 11),
        Column("sessions", "session_totals.total_sessions", 8),
        Column("time", "session_totals.total_time_ms", 8, _duration),
        Column("ended session", "ended_session.actions", 13, "{} events".format),
        Column("top page", "user_profile.most_visited_pages", 13, lambda pages: pages[0] if pages else ""),
        Column("page", "activity.page", 13),
        Column("from", "user_profile.countries_visited", 11, _list),
        Column("with", "user_profile.devices_used", 21, _list),
    ),
    "windowed_metrics": (
        Column("server", "server_id", 12),
        Column("metric", "metric_name", 16),
        Column("window", "window.start_timestamp", 8, _clock),
        Column("count", "statistics.count", 6),
        Column("average", "statistics.average", 9),
        Column("status", "alerting.status", 8),
        Column("minimum", "statistics.minimum", 9),
        Column("maximum", "statistics.maximum", 9),
        Column("unit", "unit", 8),
    ),
    "session_analytics": (
        Column("user", "user_id", 11),
        Column("session", "session_status", 7),
        Column("page", "current_event.page", 14),
        Column("pages", "session_metrics.pages_visited_count", 5),
        Column("time", "session_metrics.total_time_ms", 8, _duration),
        Column("sessions", "user_profile.total_sessions", 8),
        Column("bought", "session_metrics.conversion_events", 6),
        Column("per page", "session_insights.avg_time_per_page", 9, _ms),
        Column("from", "device_context.current_referrer", 14),
    ),
    "device_alerts": (
        Column("device", "device_id", 12),
        Column("alert", "alert_type", 17),
        Column("status", "status", 12),
        Column("temperature", "temperature", 11),
        Column("errors", "error_count", 6),
        Column("heartbeats", "heartbeat_count", 10),
        Column("facility", "facility", 12),
        Column("zone", "zone", 10),
    ),
    "order_processing_results": (
        Column("order", "order_id", 12),
        Column("status", "status", 9),
        Column("customer", "customer_id", 10),
        Column("orders", "customer_orders", 6),
        Column("spent", "customer_total_spent", 11, _money),
        Column("product", "product_id", 10),
        Column("left", "stock_left", 6),
        Column("reserved", "reserved", 8),
        Column("sold", "sold", 6),
    ),
    "food_bills": (
        Column("order", "order_id", 12),
        Column("customer", "customer", 12),
        Column("item", "item", 14),
        Column("quantity", "quantity", 8),
        Column("price", "unit_price", 8, _money),
        Column("total", "total", 9, _money),
        Column("price of", "price_valid_from", 8, _clock),
    ),
}


def columns_of(topic: str, record: Record) -> tuple[Column, ...]:
    """Return the columns of an output topic's records; those of one not listed here are its first plain fields."""
    if topic in _COLUMNS:
        return _COLUMNS[topic]
    plain = [name for name, value in record.items() if isinstance(value, str | int | float | bool)]
    return tuple(Column(name, name, max(12, len(name))) for name in plain[:6])
