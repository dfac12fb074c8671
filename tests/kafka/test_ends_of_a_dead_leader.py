"""After an unanswered request, the client looks up the leaders again, because a dead leader names no successor."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException

from forebay.codec import Unavailable
from forebay.kafka.partition_ends import partition_ends


class Admin:
    """An admin client whose known leader is dead. Requests fail with `failure` or get no answer."""

    def __init__(self, failure: Exception | None) -> None:
        self._failure = failure
        self.lookups = 0

    def list_offsets(self, asked: Any, **_: Any) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        if self._failure is not None:
            future.set_exception(self._failure)
        return dict.fromkeys(asked, future)

    def list_topics(self, **_: Any) -> None:
        self.lookups += 1
        # All brokers may be unavailable. Then the error of the original request must be reported.
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))


@pytest.mark.parametrize("failure", [None, KafkaException(KafkaError(KafkaError._TIMED_OUT))])
def test_leaders_are_looked_up_after_a_request_without_an_answer(failure: Exception | None) -> None:
    admin: Any = Admin(failure)
    with pytest.raises(Unavailable, match="can't look up the topic's last offsets"):
        partition_ends(admin, [("topic", 0)], IsolationLevel.READ_COMMITTED, "the topic's", 0.01)
    assert admin.lookups == 1
