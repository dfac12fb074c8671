"""Clients of the broker that can't be used any more: their worker ends, and the next lease opens the group again."""

from __future__ import annotations

from confluent_kafka import KafkaError

from forebay.runtime.errors import ClientFailed, GroupFenced

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


def refuse_lost(error: KafkaError) -> None:
    """Refuse an error after which a client answers nothing but this error.

    A worker that took it for an outage would open the group again, and take it away from the worker that fenced it off.

    Raises:
        GroupFenced: another worker has the group. ClientFailed: any other fatal error.
    """
    # Before the test for fatal errors: librdkafka reports fencing as fatal, too, but a new client would fence the
    # worker that took over.
    if error.code() in _FENCED:
        raise GroupFenced(f"another worker commits for this group now ({error.name()})")
    if error.fatal() or error.code() == KafkaError._FATAL:
        raise ClientFailed(f"a client of the broker can't be used any more ({error.name()}): {error.str()}")
