"""Records fit their contracts, and the contracts document every field."""

import json

import pytest

from forebay.catalog import find_service
from forebay.job import load_job
from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract
from order_stores import model
from order_stores.model import Status

CONTRACT_TYPES = [
    model.OrderEvent,
    model.Order,
    model.ProductStep,
    model.ProductStock,
    model.CustomerStep,
    model.Customer,
    model.OrderProcessingResult,
]


@pytest.mark.parametrize("record_type", CONTRACT_TYPES)
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("order-stores", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.order_stores"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


def test_the_statuses_of_the_contracts_are_the_services() -> None:
    for name in ("Order", "ProductStep", "CustomerStep", "OrderProcessingResult"):
        fields = {field["name"]: field for field in json.loads(load_contract("order-stores", name).text)["fields"]}
        assert fields["status"]["type"]["symbols"] == list(Status)


def test_only_event_id_and_customer_id_may_be_missing() -> None:
    fields = json.loads(load_contract("order-stores", "OrderEvent").text)["fields"]
    assert [field["name"] for field in fields if "default" in field] == ["event_id", "customer_id"]


def test_the_table_and_the_job_agree() -> None:
    service = find_service("order-stores")
    job = load_job(service.job)
    assert service.stages == 1 + len(job.then) == 3
    assert [topic.name for topic in service.inputs] == list(job.inputs)
    assert [topic.name for topic in service.outputs] == list(job.outputs)
