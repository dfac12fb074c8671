"""The result columns that the demo shows exist in the contracts and have readable widths."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from forebay.catalog import Topic, all_services
from forebay.demo.columns import columns_of
from forebay.serde import load_contract
from tests.demo.views import RESULT

SERVICES = all_services()


def field_exists(schema: Any, path: list[str]) -> bool:
    if isinstance(schema, list):
        return any(field_exists(branch, path) for branch in schema)
    if not path:
        return True
    if not isinstance(schema, Mapping) or schema["type"] != "record":
        return False
    return any(field_exists(field["type"], path[1:]) for field in schema["fields"] if field["name"] == path[0])


OUTPUTS = [(service.name, topic) for service in SERVICES.values() for topic in service.outputs]


@pytest.mark.parametrize(("service", "topic"), OUTPUTS, ids=lambda value: getattr(value, "name", value))
def test_every_column_is_a_field_of_the_contract(service: str, topic: Topic) -> None:
    contract = json.loads(load_contract(service, topic.record).text)
    for column in columns_of(topic.name, {}):
        assert field_exists(contract, column.path.split(".")), column.path


@pytest.mark.parametrize(("service", "topic"), OUTPUTS, ids=lambda value: getattr(value, "name", value))
def test_the_first_columns_fit_into_eighty_characters(service: str, topic: Topic) -> None:
    columns = columns_of(topic.name, {})
    assert all(len(column.title) <= column.width for column in columns)
    assert len(columns) == 0 or sum(column.width + 2 for column in columns[:5]) <= 78


def test_a_result_of_user_sessions() -> None:
    shown = {column.title: column.text(RESULT) for column in columns_of("user_session_stats", RESULT)}
    assert shown == {
        "user": "user_000123",
        "last action": "page_view",
        "sessions": "3",
        "time": "1:02:03",
        "ended session": "12 events",
        "top page": "/products",
        "page": "/products/3",
        "from": "US DE",
        "with": "mobile desktop",
    }


def test_missing_fields_are_empty() -> None:
    idle_end = {**RESULT, "activity": None, "ended_session": None}
    shown = {column.title: column.text(idle_end) for column in columns_of("user_session_stats", idle_end)}
    assert shown["last action"] == shown["page"] == shown["ended session"] == ""


def test_a_topic_without_columns_of_its_own_shows_its_plain_fields() -> None:
    record = {"title": "Alien", "tags": ["a"], "sold": 3}
    assert [(column.title, column.text(record)) for column in columns_of("sold", record)] == [
        ("title", "Alien"),
        ("sold", "3"),
    ]


@pytest.mark.parametrize(
    ("topic", "record", "shown"),
    [
        ("windowed_metrics", {"window": {"start_timestamp": 1_735_689_600_000}}, {"window": "00:00:00"}),
        ("session_analytics", {"session_insights": {"avg_time_per_page": 1234.56}}, {"per page": "1,235 ms"}),
        ("order_processing_results", {"customer_total_spent": Decimal("1031.980000000")}, {"spent": "1,031.98"}),
        ("food_bills", {"unit_price": None, "total": 12.5}, {"price": "", "total": "12.50"}),
    ],
)
def test_values_read_well(topic: str, record: dict[str, Any], shown: dict[str, str]) -> None:
    results = {column.title: column.text(record) for column in columns_of(topic, record)}
    assert shown.items() <= results.items()
