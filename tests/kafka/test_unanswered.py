"""Blocking and non-blocking requests report a silent broker in the same words."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.kafka import admission
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.admission import Admission
from forebay.kafka.errors import KafkaUnavailable
from forebay.kafka.settings import KafkaSettings

SETTINGS = KafkaSettings(bootstrap_servers="127.0.0.1:9", schema_registry_url="http://127.0.0.1:9")
CAUSE = "127.0.0.1:9 refuses connections"


@pytest.fixture(autouse=True)
def cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "why_silent", lambda _settings: CAUSE)


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._TIMED_OUT])
def test_a_request_that_gets_no_answer_is_repeated_for_a_while_and_its_cause_is_logged(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    waits = []

    def request(seconds: float) -> None:
        waits.append(seconds)
        raise KafkaException(KafkaError(code))

    with pytest.raises(KafkaException):
        Admission(SETTINGS, 30.0).call(request)
    assert waits == [2.0, 8.0], "seconds; no longer, since it is known why"
    assert CAUSE in caplog.text


def test_another_error_is_not_repeated() -> None:
    waits = []

    def request(seconds: float) -> None:
        waits.append(seconds)
        raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))

    with pytest.raises(KafkaException):
        Admission(SETTINGS, 30.0).call(request)
    assert len(waits) == 1


def test_an_answer_is_returned() -> None:
    assert Admission(SETTINGS, 30.0).call(lambda seconds: seconds) == 2.0


def test_an_unanswered_request_for_topic_names_reports_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = TopicAdmin(SETTINGS, 0.2)
    with pytest.raises(KafkaUnavailable, match=f"no answer from the broker: {CAUSE}"):
        admin.names()
