"""Why a request got no answer: a broker that lets us not in tells so only between requests."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.librdkafka_log import NOT_ADMITTED
from forebay.kafka.settings import KafkaSettings


class Admission:
    """An admin client that remembers why the broker last refused to let it in.

    Args:
        timeout_s: for each request, in seconds; told in errors.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float) -> None:
        self.client = AdminClient(settings.admin(error_cb=self._noticed))
        self.servers = settings.bootstrap_servers
        self.timeout_s = timeout_s
        self._refusal = ""

    def failure(self, error: KafkaException, doing: str) -> Exception:
        """Give the error to raise for a request that failed, as from_kafka; one without an answer is a silence."""
        if error.args[0].code() == KafkaError._TIMED_OUT:
            return self.silence()
        return from_kafka(error, doing)

    def silence(self) -> KafkaUnavailable:
        """Give the error to raise for a request without an answer: the refusal, if there was one."""
        return self._refused() or KafkaUnavailable(f"{self.servers} does not answer within {self.timeout_s:.0f} s")

    def _refused(self) -> KafkaUnavailable | None:
        self.client.poll(0)
        refusal, self._refusal = self._refusal, ""
        if not refusal:
            return None
        return KafkaUnavailable(
            f"the broker {self.servers} does not let us in: check the TLS and SASL options ({refusal})"
        )

    def _noticed(self, error: Any) -> None:
        assert isinstance(error, KafkaError)
        if error.code() in NOT_ADMITTED:
            self._refusal = error.str()
