"""Why a request got no answer: a broker that refuses our login reports it only between requests."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.kafka.door import why_silent
from forebay.kafka.errors import KafkaUnavailable, LoginRefused, from_kafka
from forebay.kafka.librdkafka_log import NOT_ADMITTED
from forebay.kafka.settings import KafkaSettings

log = logging.getLogger("forebay.kafka")

T = TypeVar("T")

_SILENCE_S = 2.0
"""How long an answer may take before the cause is looked up, in seconds; the look-up takes up to 2 s more."""

_UNANSWERED = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT)

_PATIENCE_S = 10.0
"""How long a request waits where a look has found why there is no answer."""


class Admission:
    """An admin client that remembers why the broker last refused to let it in.

    Args:
        timeout_s: for each request, in seconds; errors state it.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float) -> None:
        self.client = AdminClient(settings.admin(error_cb=self._on_error))
        self.servers = settings.bootstrap_servers
        self.timeout_s = timeout_s
        self._refusal = ""
        self._settings = settings
        self._cause = ""

    def result(self, future: Future[Any]) -> Any:
        """Wait for a request's answer; where it does not come soon, look why, and warn once.

        Raises:
            TimeoutError: there is no answer (see silence). What the request raised.
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
        """Make a request that blocks for so many seconds at most; like `result` where the answer does not come soon."""
        first = min(_SILENCE_S, self.timeout_s)
        try:
            return request(first)
        except KafkaException as error:
            if error.args[0].code() not in _UNANSWERED:
                raise
        return request(self._time_left(first))

    def _time_left(self, waited: float) -> float:
        """Look why there is no answer, warn once, and return how many seconds longer to wait."""
        logged, self._cause = self._cause, why_silent(self._settings)
        if self._cause and self._cause != logged:
            log.warning("waiting for the broker %s: %s", self.servers, self._cause)
        # That a login was refused is an event of the client, which is delivered only by `poll`.
        self.client.poll(0)
        longest = min(_PATIENCE_S, self.timeout_s) if self._cause or self._refusal else self.timeout_s
        return max(longest - waited, 0.1)

    def failure(self, error: KafkaException, doing: str) -> Exception:
        """Return the error to raise for a request that failed, as from_kafka; one without an answer is a silence."""
        if error.args[0].code() in _UNANSWERED:
            return self.silence()
        return from_kafka(error, doing)

    def silence(self) -> KafkaUnavailable:
        """Return the error to raise for a request without an answer: the refusal, if there was one."""
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
