"""An admin client that finds out why a request gets no answer, such as a refused login."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.kafka.connection_probe import why_silent
from forebay.kafka.errors import KafkaUnavailable, LoginRefused, from_kafka
from forebay.kafka.librdkafka_log import NOT_ADMITTED
from forebay.kafka.settings import KafkaSettings

log = logging.getLogger("forebay.kafka")

T = TypeVar("T")

_SILENCE_S = 2.0
"""Time after which the cause of a missing answer is looked up, in seconds. The look-up takes up to 2 s more."""

_UNANSWERED = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT)

_PATIENCE_S = 10.0
"""Timeout of a request if the look-up has found a cause, in seconds."""


class Admission:
    """An admin client that keeps the broker's last refusal of its login.

    Args:
        timeout_s: for each request, in seconds.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float) -> None:
        self.client = AdminClient(settings.admin(error_cb=self._on_error))
        self.servers = settings.bootstrap_servers
        self.timeout_s = timeout_s
        self._refusal = ""
        self._settings = settings
        self._cause = ""

    def result(self, future: Future[Any]) -> Any:
        """Return a request's result. If it takes longer than 2 s, look up the cause and log it once.

        Raises:
            TimeoutError: no answer (see `silence`). Also the error of the request itself.
        """
        first = min(_SILENCE_S, self.timeout_s)
        try:
            return future.result(first)
        except TimeoutError:
            # The request itself failed with a timeout: there is nothing more to wait for.
            if future.done():
                raise
        return future.result(self._time_left(first))

    def call(self, request: Callable[[float], T]) -> T:
        """Return the result of a blocking request, which is called with its timeout in seconds; else like `result`."""
        first = min(_SILENCE_S, self.timeout_s)
        try:
            return request(first)
        except KafkaException as error:
            if error.args[0].code() not in _UNANSWERED:
                raise
        return request(self._time_left(first))

    def _time_left(self, waited: float) -> float:
        """Look up why there is no answer, log it once, and return how many more seconds to wait."""
        logged, self._cause = self._cause, why_silent(self._settings)
        if self._cause and self._cause != logged:
            log.warning("waiting for the broker %s: %s", self.servers, self._cause)
        # The client reports a refused login as an event, which only `poll` delivers.
        self.client.poll(0)
        longest = min(_PATIENCE_S, self.timeout_s) if self._cause or self._refusal else self.timeout_s
        return max(longest - waited, 0.1)

    def failure(self, error: KafkaException, doing: str) -> Exception:
        """Return the error to raise for a failed request: that of `silence` if it got no answer, or `from_kafka`."""
        if error.args[0].code() in _UNANSWERED:
            return self.silence()
        return from_kafka(error, doing)

    def silence(self) -> KafkaUnavailable:
        """Return the error to raise for a request without an answer: a refused login, the cause, or the timeout."""
        cause = self._cause or why_silent(self._settings)
        silent = f"{self.servers} does not answer within {self.timeout_s:.0f} s"
        return self._take_refusal() or KafkaUnavailable(f"no answer from the broker: {cause}" if cause else silent)

    def _take_refusal(self) -> KafkaUnavailable | None:
        self.client.poll(0)
        refusal, self._refusal = self._refusal, ""
        if not refusal:
            return None
        return LoginRefused(f"the broker {self.servers} refuses the login: check the TLS and SASL options ({refusal})")

    def _on_error(self, error: Any) -> None:
        assert isinstance(error, KafkaError)
        if error.code() in NOT_ADMITTED:
            self._refusal = error.str()
