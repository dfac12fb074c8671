"""Invalid events go to .errors and change nothing."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import fastavro
import pytest

from device_alerts.model import DeviceEvent
from forebay.codec import DecodeError
from forebay.producing.base import Defect, Event
from forebay.producing.frames import Frames
from forebay.records import as_dict
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract, local_codec
from forebay.serde.framing import header
from tests.device_alerts.harness import START, device, driver, event, pipe, types

DRIVERS_CLOCK = 1 << 52
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("event_type", "value", "reason"),
    [
        ("", "ok", "event_type is empty: the producer must say what the event is"),
        ("sensor_reading", "warm", "the reading 'warm' is not a finite number: the device must send its temperature"),
        ("sensor_reading", "", "the reading '' is not a finite number"),
        ("sensor_reading", NAN, "the reading nan is not a finite number"),
        ("sensor_reading", INFINITY, "the reading inf is not a finite number"),
        ("sensor_reading", -INFINITY, "the reading -inf is not a finite number"),
        ("sensor_reading", "NaN", "the reading 'NaN' is not a finite number"),
        ("sensor_reading", "infinity", "the reading 'infinity' is not a finite number"),
        ("sensor_reading", "1e999", "the reading '1e999' is not a finite number"),
        ("sensor_reading", " 76.5", "the reading ' 76.5' is not a finite number"),
        ("sensor_reading", "76.5\n", r"the reading '76.5\n' is not a finite number"),
        ("sensor_reading", "76,5", "the reading '76,5' is not a finite number"),
        ("sensor_reading", "7_6", "the reading '7_6' is not a finite number"),
        ("sensor_reading", "٧٦", "is not a finite number"),
        ("sensor_reading", "0x4c", "the reading '0x4c' is not a finite number"),
        ("sensor_reading", "76.5 C", "the reading '76.5 C' is not a finite number"),
        ("sensor_reading", "x" * 10_000, "xxx"),
        ("status_update", "", "the value of the status_update is empty: the device must say which"),
        ("status_update", NAN, "the value of the status_update is nan"),
        ("error", "", "the value of the error is empty"),
        ("error", INFINITY, "the value of the error is inf"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(event_type: str, value: str | float, reason: str) -> None:
    task = driver()
    pipe(task, 0, "status_update", "idle")
    before = device(task)
    assert pipe(task, 1, event_type, value) == []
    (failure,) = task.errors
    assert failure.headers["error.stage"] == "process"
    assert failure.headers["error.class"] == "RejectedRecord"
    assert reason in failure.headers["error.message"]
    assert len(failure.headers["error.message"]) < 250
    assert device(task) == before


def test_an_unusable_event_does_not_bring_a_device_back() -> None:
    task = driver()
    pipe(task, 0)
    task.advance_wall_time(300_000)
    assert pipe(task, 300_000, "sensor_reading", "warm") == []
    assert device(task).status == "offline"


def test_a_repeated_event_id_changes_nothing() -> None:
    task = driver()
    assert len(pipe(task, 0, "error", "E1", event_id="e-1")) == 1
    before = device(task)
    assert pipe(task, 0, "error", "E1", event_id="e-1") == []
    assert (task.duplicates, device(task)) == (1, before)


def test_events_without_an_id_are_never_repetitions() -> None:
    task = driver()
    pipe(task, 0, "error", "E1")
    assert pipe(task, 0, "error", "E1")[0].error_count == 2


def frames() -> Frames:
    contract = load_contract("device-alerts", "DeviceEvent")
    encode = local_codec("device-alerts", DeviceEvent).encode
    return Frames(encode, contract.text, "event_type", lambda _suffix, _schema: 9)


@pytest.mark.parametrize("defect", list(Defect))
def test_records_of_a_broken_producer(defect: Defect) -> None:
    task = driver(max_future_ms=START + 3_600_000 - DRIVERS_CLOCK)
    pipe(task, 0)
    before = task.store("devices")
    key, value = frames().frame(Event("d1", event(1, "error", "E1"), START + 1, defect))
    assert task.pipe_bytes(key, value, START + 1) == []
    (failure,) = task.errors
    assert (failure.headers["error.stage"], failure.value) == ("decode", value)
    assert task.store("devices") == before


def written(field: str, avro: Any, value: Any) -> tuple[DeviceEvent | None, str]:
    """Return the event, or the reason why decoding fails, if a producer declares and writes a field differently."""
    schemas = LocalSchemas()
    contract = load_contract("device-alerts", "DeviceEvent")
    schema = copy.deepcopy(json.loads(contract.text))
    schema["fields"] = [f if f["name"] != field else {"name": field, "type": avro} for f in schema["fields"]]
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), as_dict(event(0)) | {field: value})
    theirs = schemas.register(Schema(json.dumps(schema)))
    codec = AvroCodec(DeviceEvent, schemas.register(contract), schemas)
    try:
        return codec.decode(header(theirs.schema_id) + body.getvalue()), ""
    except DecodeError as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("field", "avro", "value"),
    [
        ("value", "boolean", True),
        ("value", "null", None),
        ("value", ["null", "double"], None),
        ("value", {"type": "array", "items": "double"}, [1.0]),
        ("event_type", ["null", "string"], None),
        ("event_type", "double", 1.0),
        ("timestamp", "string", "2025-01-01"),
        ("timestamp", ["null", "long"], None),
        ("timestamp", "double", 1.0),
    ],
)
def test_a_field_that_is_null_or_of_another_type(field: str, avro: Any, value: Any) -> None:
    decoded, reason = written(field, avro, value)
    assert decoded is None
    assert f"DeviceEvent.{field}: the writer's type" in reason


@pytest.mark.parametrize("avro", ["int", "long", "float", "double", ["null", "double"], ["double", "string"]])
def test_a_value_declared_as_any_kind_of_number_is_a_number(avro: Any) -> None:
    decoded, _ = written("value", avro, 80)
    assert decoded is not None
    assert (type(decoded.value), decoded.value) == (float, 80.0)
    task = driver()
    assert types(pipe(task, 0, "sensor_reading", decoded.value)) == ["TEMPERATURE_ALERT"]
