"""Invalid events go to .errors and change nothing."""

import io
import json
import math
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.producing.base import Defect, Event
from forebay.producing.frames import FAR_FUTURE_MS, Frames, altered_contract
from forebay.records import as_dict
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract, local_codec
from tests.windowed_metrics.harness import START, WALL_CLOCK, driver, metric, pipe, states
from windowed_metrics.model import ServerMetric

CONTRACT = load_contract("windowed-metrics", "ServerMetric")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "metric_name is empty"),
        ({"timestamp": 0}, "timestamp is 0"),
        ({"value": math.nan}, "value is nan: the producer must send a finite number"),
        ({"value": math.inf}, "value is inf: the producer must send a finite number"),
        ({"value": -math.inf}, "value is -inf"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(fields: dict[str, Any], reason: str) -> None:
    task = driver()
    pipe(task, 0, 10.0)
    before = states(task)
    assert task.pipe("s1", metric(1, **fields)) == []
    (failure,) = task.errors
    assert failure.headers["error.stage"] == "process"
    assert reason in failure.headers["error.message"]
    assert states(task) == before
    assert pipe(task, 2, 20.0).statistics.sum == 30.0


def test_a_value_that_would_overflow_the_sum_is_rejected() -> None:
    task = driver()
    pipe(task, 0, 1.7e308)
    assert task.pipe("s1", metric(1, 1.7e308)) == []
    assert "beyond a double's range" in task.errors[0].headers["error.message"]
    assert pipe(task, 2, -1.7e308).statistics.sum == 0.0


@pytest.mark.parametrize("defect", Defect, ids=lambda defect: str(defect.value))
def test_records_of_a_broken_producer_change_nothing(defect: Defect) -> None:
    task = driver({"max_future_ms": FAR_FUTURE_MS - 1 - WALL_CLOCK})
    pipe(task, 0, 10.0)
    before = states(task)
    frames = Frames(local_codec("windowed-metrics", ServerMetric).encode, CONTRACT.text, "metric_name", lambda *_: 9)
    key, value = frames.frame(Event("s1", metric(1), START + 1, defect))
    assert task.pipe_bytes(key, value, START + 1) == []
    (failure,) = task.errors
    assert (failure.headers["error.stage"], failure.key, failure.value) == ("decode", key, value)
    assert states(task) == before
    assert pipe(task, 1, 20.0).statistics.sum == 30.0


@pytest.mark.parametrize("field", ["metric_name", "value", "timestamp"])
@pytest.mark.parametrize("defect", [Defect.MISSING_FIELD, Defect.NULL_FIELD, Defect.WRONG_TYPE])
def test_a_required_field_is_required(field: str, defect: Defect) -> None:
    schemas = LocalSchemas()
    codec = AvroCodec(ServerMetric, schemas.register(CONTRACT), schemas)
    writer = altered_contract(json.loads(CONTRACT.text), field, defect)
    schema_id = schemas.register(Schema(json.dumps(writer))).schema_id
    body = io.BytesIO()
    values = as_dict(metric(0)) | {field: True if defect is Defect.WRONG_TYPE else None}
    fastavro.schemaless_writer(body, fastavro.parse_schema(writer, named_schemas={}), values)
    with pytest.raises(DecodeError, match=field):
        codec.decode(b"\0" + schema_id.to_bytes(4, "big") + body.getvalue())


def test_a_repeated_metric_id_changes_nothing() -> None:
    task = driver()
    pipe(task, 0, metric_id="m-1")
    before = states(task)
    assert task.pipe("s1", metric(0, metric_id="m-1")) == []
    assert task.duplicates == 1
    assert states(task) == before


def test_measurements_without_an_id_are_never_repetitions() -> None:
    task = driver()
    pipe(task, 0)
    assert pipe(task, 0).statistics.count == 2


def test_whole_numbers_are_fine_as_values() -> None:
    schemas = LocalSchemas()
    codec = AvroCodec(ServerMetric, schemas.register(CONTRACT), schemas)
    text = CONTRACT.text.replace('"name": "value", "type": "double"', '"name": "value", "type": "long"')
    schema_id = schemas.register(Schema(text)).schema_id
    body = io.BytesIO()
    writer = fastavro.parse_schema(json.loads(text), named_schemas={})
    fastavro.schemaless_writer(body, writer, as_dict(metric(0)) | {"value": 7})
    assert codec.decode(b"\0" + schema_id.to_bytes(4, "big") + body.getvalue()) == metric(0, 7.0)
