"""The fields shown of a result exist in its contract and read well."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from forebay.catalog import SERVICES
from forebay.demo.columns import columns_of
from forebay.serde import load_contract
from tests.demo.views import RESULT


def field_exists(schema: Any, path: list[str]) -> bool:
    if isinstance(schema, list):
        return any(field_exists(branch, path) for branch in schema)
    if not path:
        return True
    if not isinstance(schema, Mapping) or schema["type"] != "record":
        return False
    return any(field_exists(field["type"], path[1:]) for field in schema["fields"] if field["name"] == path[0])


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.name)
def test_every_column_is_a_field_of_the_contract(service: Any) -> None:
    contract = json.loads(load_contract(service.name, service.output.record).text)
    for column in columns_of(service.name, {}):
        assert field_exists(contract, column.path.split(".")), column.path


def test_a_result_of_user_sessions() -> None:
    shown = {column.title: column.text(RESULT) for column in columns_of("user-sessions", RESULT)}
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


def test_what_is_missing_is_empty() -> None:
    idle_end = {**RESULT, "activity": None, "ended_session": None}
    shown = {column.title: column.text(idle_end) for column in columns_of("user-sessions", idle_end)}
    assert shown["last action"] == shown["page"] == shown["ended session"] == ""


def test_a_service_without_columns_of_its_own_shows_its_plain_fields() -> None:
    record = {"title": "Alien", "tags": ["a"], "sold": 3}
    assert [(column.title, column.text(record)) for column in columns_of("ticket-sales", record)] == [
        ("title", "Alien"),
        ("sold", "3"),
    ]
