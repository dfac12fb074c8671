"""Invalid clicks go to .errors and change nothing."""

import io
import json
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract
from forebay.serde.framing import header
from session_analytics.model import DeviceInfo, PageMetadata, UserClick
from tests.session_analytics.harness import START, click, driver, pipe, stores

LONG = "x" * 4097


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"page": ""}, "page is empty: the producer must name the page"),
        ({"duration_on_page": -1}, "duration_on_page is -1: the producer must send 0 or more"),
        ({"page": LONG}, "page has 4097 characters: the producer must send at most 4096"),
        ({"user_agent": LONG}, "user_agent has 4097 characters"),
        ({"referrer": LONG}, "referrer has 4097 characters"),
        ({"device_info": DeviceInfo(LONG)}, "device_info.type has 4097 characters"),
        ({"page_metadata": PageMetadata(LONG)}, "page_metadata.category has 4097 characters"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(fields: dict[str, Any], reason: str) -> None:
    task = driver()
    pipe(task, 0)
    before = stores(task)
    assert task.pipe("ann", click(1, **fields)) == []
    (failure,) = task.errors
    assert failure.headers["error.stage"] == "process"
    assert reason in failure.headers["error.message"]
    assert stores(task) == before


@pytest.mark.parametrize("timestamp", [-1, 1 << 60])
def test_an_impossible_time_is_an_error(timestamp: int) -> None:
    task = driver()
    assert task.pipe("ann", click(timestamp - START)) == []
    (failure,) = task.errors
    assert "event time" in failure.headers["error.message"]


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b"\0\0\0\0\1"), (b"ann", None), (b"ann", b"\2"), (b"\xff", b""), (b"ann", b"")],
    ids=["no key", "no value", "wrong magic byte", "key not UTF-8", "empty value"],
)
def test_invalid_bytes_change_nothing(key: bytes | None, value: bytes | None) -> None:
    task = driver()
    pipe(task, 0)
    before = stores(task)
    assert task.pipe_bytes(key, value, START) == []
    assert [(failure.key, failure.value) for failure in task.errors] == [(key, value)]
    assert stores(task) == before
    assert pipe(task, 1).session_metrics.pages_visited_count == 2


def test_a_repeated_click_id_changes_nothing() -> None:
    task = driver()
    pipe(task, 0, click_id="c1")
    before = stores(task)
    assert task.pipe("ann", click(5, click_id="c1")) == []
    assert task.duplicates == 1
    assert stores(task) == before


def test_clicks_without_an_id_are_never_repetitions() -> None:
    task = driver()
    pipe(task, 0)
    assert pipe(task, 0).session_metrics.pages_visited_count == 2


def test_click_that_overflows_a_64_bit_sum_is_refused() -> None:
    task = driver()
    pipe(task, 0, duration_on_page=(1 << 63) - 1)
    before = stores(task)
    assert task.pipe("ann", click(1, duration_on_page=1)) == []
    assert task.errors[0].headers["error.stage"] == "encode"
    assert stores(task) == before


@pytest.mark.parametrize("name", ["page", "duration_on_page", "timestamp"])
@pytest.mark.parametrize("written_as", [None, "null", "boolean"], ids=["missing", "null", "of another type"])
def test_a_required_field_must_be_there(name: str, written_as: str | None) -> None:
    contract = load_contract("session-analytics", "UserClick")
    writer = json.loads(contract.text)
    given: dict[str, Any] = {"page": "/home", "duration_on_page": 1, "timestamp": START} | {name: None}
    writer["fields"] = [field for field in writer["fields"] if field["name"] in given and field["name"] != name]
    if written_as is not None:
        writer["fields"].append({"name": name, "type": written_as})
        given[name] = {"null": None, "boolean": True}[written_as]
    schemas = LocalSchemas()
    codec = AvroCodec(UserClick, schemas.register(contract), schemas)
    written = schemas.register(Schema(json.dumps(writer)))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(writer), given)
    with pytest.raises(DecodeError, match=name):
        codec.decode(header(written.schema_id) + body.getvalue())
