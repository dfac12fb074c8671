"""Records whose timestamp(), event_id() or __post_init__ raises go to .errors, and the task continues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.processor import Processor
from forebay.processor.codecs import Codecs
from forebay.serde import AvroCodec, LocalSchemas, Schema
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Sum, Total


class Fragile(Sum):
    """Sums events. For the amount 13, timestamp() and event_id() return or raise what `answers` has."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def timestamp(self, event: Number) -> int:
        answer: int = self._answer("timestamp", event, event.timestamp)
        return answer

    def event_id(self, event: Number) -> str | None:
        answer: str | None = self._answer("event_id", event, event.event_id)
        return answer

    def _answer(self, method: str, event: Number, usual: Any) -> Any:
        answer = self.answers.get(method, usual) if event.amount == 13 else usual
        if isinstance(answer, BaseException):
            raise answer
        return answer


def driver(processor: Processor[Number, Total]) -> TestDriver:
    return TestDriver(processor, CODECS, service="sums")


CASES: list[tuple[str, Any, str, str]] = [
    ("timestamp", KeyError("time"), "decode", "event time cannot be determined: KeyError: 'time'"),
    ("timestamp", None, "decode", "event time None is NoneType: timestamp() must return a whole number"),
    ("timestamp", 12.5, "decode", "event time 12.5 is float"),
    ("timestamp", True, "decode", "event time True is bool"),
    ("event_id", ValueError("no id in it"), "process", "no id in it"),
    ("timestamp", MemoryError(), "decode", "MemoryError"),
    ("event_id", MemoryError(), "process", "the memory did not suffice"),
    ("event_id", SystemExit(1), "process", "1"),
    ("event_id", 7, "process", "encode"),
    ("event_id", "\ud800", "process", "surrogates not allowed"),
]


@pytest.mark.parametrize(("method", "answer", "stage", "reason"), CASES)
def test_the_record_goes_to_errors_and_the_next_is_used(method: str, answer: Any, stage: str, reason: str) -> None:
    sums = driver(Fragile(**{method: answer}))
    assert sums.pipe_bytes(b"a", b'["e1", 50, 13]') == []
    (error,) = sums.errors
    assert error.headers["error.stage"] == stage
    assert reason in error.headers["error.message"]
    assert (sums.stream_time, len(sums.pipe("a", Number("e2", 51, 1)))) == (-1, 1)


@pytest.mark.parametrize("method", ["timestamp", "event_id"])
def test_an_error_that_is_not_the_record_s_fault_stops_the_commit(method: str) -> None:
    sums = driver(Fragile(**{method: Unavailable("registry gone")}))
    with pytest.raises(Unavailable):
        sums.pipe_bytes(b"a", b'["e1", 50, 13]')
    assert sums.errors == []


@dataclass(frozen=True, slots=True)
class Even:
    event_id: str
    timestamp: int
    amount: int

    def __post_init__(self) -> None:
        if self.amount % 2:
            raise ValueError(f"{self.amount} is odd")


CONTRACT = Schema(
    '{"type": "record", "name": "Even", "fields": [{"name": "event_id", "type": "string"},'
    '{"name": "timestamp", "type": "long"}, {"name": "amount", "type": "long"}]}'
)


def test_a_record_whose_constructor_raises_goes_to_errors() -> None:
    schemas = LocalSchemas()
    codec = AvroCodec(Even, schemas.register(CONTRACT), schemas)
    sums = TestDriver(Sum(), Codecs({"numbers": codec}, CODECS.stores, CODECS.outputs))
    good = codec.encode(Even("e", 50, 2))
    assert sums.pipe_bytes(b"a", good[:-1] + b"\x06") == []
    (error,) = sums.errors
    assert error.headers["error.stage"] == "decode"
    assert error.headers["error.message"].endswith("these values: ValueError: 3 is odd")
    assert len(sums.pipe_bytes(b"a", good)) == 1
