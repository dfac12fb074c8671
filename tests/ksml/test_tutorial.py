"""The tutorial's five definitions have the results that their functions compute over plain dicts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from forebay.ksml.driver import KsmlDriver
from forebay.ksml.mounting import read_all
from forebay.ksml.producers import producers_of
from tests.ksml.bodies import DEFINITIONS, NAMES, expected_records


def by_key(records: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    results: dict[Any, list[Any]] = defaultdict(list)
    for key, value in records:
        results[key].append(value)
    return results


@pytest.mark.parametrize("name", NAMES)
def test_definition_gives_the_results_of_its_functions_over_a_dict(name: str) -> None:
    result = read_all([DEFINITIONS / f"{name}.yaml"])
    (producer,) = producers_of(result.files[0], result.formats)
    run = KsmlDriver(result, tasks=4)
    records: list[tuple[Any, Any]] = []
    while not producer.is_done:
        for record in producer.batch():
            run.pipe(record.key, record.value, record.topic, 1_700_000_000_000 + len(records))
            records.append((record.key, record.value))

    assert len(records) == 300
    assert not run.driver.errors
    assert by_key([(sent.key, sent.value) for sent in run.sent]) == by_key(expected_records(name, records))
    assert len(run.sent) > 100


def test_a_record_that_a_function_refuses_changes_no_store() -> None:
    result = read_all([DEFINITIONS / "order-stores.yaml"])
    run = KsmlDriver(result)
    order = {"status": "shipped", "product_id": "p", "customer_id": "c", "quantity": 2, "price": 5.0}
    run.pipe("o", order, "ksml_order_events", 1)
    (error,) = run.driver.errors
    message = error.headers["error.message"]
    assert "order-stores.yaml:32: function follow_order, its line 4" in message
    assert "ValueError: order o can't go from None to shipped" in message
    assert run.driver.store("orders") == {}
    run.pipe("o", {**order, "status": "created"}, "ksml_order_events", 2)
    assert len(run.sent) == 1
