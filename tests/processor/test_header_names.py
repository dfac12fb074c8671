"""A header whose name is not UTF-8 does not stop the task. The error record omits the headers and states this."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.processor import Context, LateRecord
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Headers
from forebay.stores.memory import MemoryTable
from tests.runtime.task_records import CODECS, Number, Record, Sum, Total


class Choosy(Sum):
    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount == 13:
            raise LateRecord(20)
        super().process(event, ctx)


class Unreadable(Record):
    """A record whose `headers()` fails as confluent_kafka's does if a header's name is not UTF-8."""

    def headers(self) -> Headers | None:
        b"\xff".decode()
        return None


def run(*records: Any) -> Any:
    engine = TaskEngine(Choosy(), CODECS, MemoryTable(), EngineSettings(service="sums"))
    engine.run([records], clock=1_000)
    return engine.finish(1)


GOOD = Record(1, b"a", b'["e2", 60, 1]')
CASES = [(b"rubbish", "errors", "error.headers"), (b'["e1", 50, 13]', "late", "late.headers")]


@pytest.mark.parametrize(("value", "where", "header"), CASES)
def test_the_record_is_reported_without_its_headers_and_with_the_reason(value: bytes, where: str, header: str) -> None:
    result = run(Unreadable(0, b"a", value), GOOD)
    (record,) = getattr(result, where)
    assert (record.key, record.value) == (b"a", value)
    assert b"not UTF-8" in dict(record.headers)[header]
    assert len(result.outputs) == 1


class Untellable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"), [(Untellable(), b"can't be made"), (ValueError("\ud800 is not text"), b"\\ud800 is not text")]
)
def test_an_error_whose_text_can_not_be_written_is_reported(error: Exception, said: bytes) -> None:
    class Raising(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            raise error

    engine = TaskEngine(Raising(), CODECS, MemoryTable(), EngineSettings(service="sums"))
    engine.run([[GOOD]], clock=1_000)
    (record,) = engine.finish(1).errors
    assert said in (dict(record.headers)["error.message"] or b"")
