"""A test driver for the service with all three sub-topologies, and events for it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from forebay.testing import TestDriver
from order_stores.model import OrderEvent, OrderProcessingResult
from order_stores.settings import OrderStoresSettings
from tests.plain import plain

START = 1_735_689_600_000
DRIVERS_CLOCK = 1 << 52
STORES = ("orders", "inventory", "customers")


def driver(
    tasks: int = 1, partitions: int = 0, engine: Mapping[str, Any] = MappingProxyType({}), **settings: int
) -> TestDriver:
    """Return a test driver. `engine` are fields of EngineSettings, and `settings` those of the service."""
    return TestDriver(
        "order-stores", tasks=tasks, partitions=partitions, settings=OrderStoresSettings(**settings), **engine
    )


def step(status: str, at: int = 0, **fields: Any) -> OrderEvent:
    """Return an event `at` ms after START, by default about three lamps for ann at 19.99 each."""
    values: dict[str, Any] = {
        "event_id": None,
        "order_id": "o1",
        "status": status,
        "product_id": "lamp",
        "quantity": 3,
        "price": 19.99,
        "customer_id": "ann",
        "timestamp": START + at,
    }
    return OrderEvent(**values | fields)


def pipe(to: TestDriver, status: str, at: int = 0, **fields: Any) -> OrderProcessingResult:
    """Process one event and return its only output."""
    event = step(status, at, **fields)
    (output,) = to.pipe(event.order_id, event)
    assert output.key == event.order_id
    assert output.timestamp == event.timestamp
    assert output.topic == "order_processing_results"
    assert isinstance(output.value, OrderProcessingResult)
    return output.value


def refusal(to: TestDriver, status: str, at: int = 0, **fields: Any) -> str:
    """Process one event that must change nothing, and return the reason why it was rejected."""
    before, count = stores(to), len(to.errors)
    event = step(status, at, **fields)
    assert to.pipe(event.order_id, event) == []
    assert len(to.errors) == count + 1
    assert stores(to) == before
    assert to.errors[-1].headers["error.stage"] == "process"
    return to.errors[-1].headers["error.message"]


def lifecycle(to: TestDriver, *statuses: str, **fields: Any) -> list[OrderProcessingResult]:
    """Process events of an order, one second apart, and return their outputs."""
    return [pipe(to, status, 1000 * number, **fields) for number, status in enumerate(statuses)]


def stores(of: TestDriver) -> dict[str, dict[str, Any]]:
    """Return the contents of the three stores in the replay's form."""
    return {name: {key: plain(value) for key, value in of.store(name).items()} for name in STORES}
