"""The reason why a record was rejected is read from the headers that the engine writes."""

from typing import cast

from confluent_kafka import Message as KafkaMessage

from forebay.codec import DecodeError
from forebay.demo.results import reason_of
from forebay.processor.messages import ErrorStage, Headers
from forebay.processor.side_topics import error_record


class Record:
    def __init__(self, headers: Headers | None) -> None:
        self._headers = headers

    def topic(self) -> str:
        return "user_activity"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 17

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def headers(self) -> Headers | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return (1, 5)


def reason(headers: Headers | None) -> str:
    return reason_of(cast(KafkaMessage, Record(headers)))


def test_stage_and_message() -> None:
    refused = error_record(Record([("trace", b"x")]), "user-sessions", ErrorStage.DECODE, DecodeError("bad\n magic"), 0)
    assert reason(refused.headers) == "decode: bad magic"


def test_a_record_of_another_process() -> None:
    assert reason(None) == "?: ?"
