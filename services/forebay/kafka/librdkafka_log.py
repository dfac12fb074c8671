"""librdkafka's voice in our logs: its log lines, and one line for each outage of the broker and for its end."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

log = logging.getLogger("forebay.kafka")
_LIBRDKAFKA = logging.getLogger("forebay.kafka.librdkafka")
_STATISTICS_MS = 1_000
_LOG_LEVEL = 2  # critical: OutageLog reports outages

_UNREACHABLE = frozenset({KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE})
STARVED = 75
"""Exit code of a process whose client could not make its threads."""

_FENCED = ("fenced by a newer instance", "attempted an operation with an old epoch")
_ENDS = threading.Event()

NOT_ADMITTED = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED})


def end_when_starved() -> None:
    """Have this process end where a client can't make its threads, for lack of memory: it would wait for ever.

    For processes that a supervisor restarts.
    """
    _ENDS.set()


class OutageLog:
    """Logs once that the broker can't be reached, and once that it is back.

    Args:
        client: what kind of client it is, for the log line.
        servers: the bootstrap servers it was given.
        clock: seconds, monotonic.
    """

    def __init__(self, client: str, servers: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._servers = servers
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None

    def on_error(self, error: KafkaError) -> None:
        """Take an error that concerns the client as a whole (librdkafka's error_cb)."""
        if error.fatal():
            log.error("the %s of %s has failed: %s", self._client, self._servers, error.str())
        elif error.code() == KafkaError._CRIT_SYS_RESOURCE and _ENDS.is_set():
            log.error("the %s of %s has failed: %s: this process ends", self._client, self._servers, error.str())
            os._exit(STARVED)
        elif error.code() in _UNREACHABLE:
            if self._begins():
                log.warning(
                    "broker %s is not reachable: retrying; check that it runs and that bootstrap servers, "
                    "TLS and SASL options are right (%s: %s)",
                    self._servers,
                    self._client,
                    error.str(),
                )
        elif error.code() in NOT_ADMITTED:
            if self._begins():
                log.error(
                    "broker %s refuses this %s: retrying; check its TLS and SASL options (%s)",
                    self._servers,
                    self._client,
                    error.str(),
                )
        else:
            log.warning("the %s of %s reports: %s", self._client, self._servers, error.str())

    def on_statistics(self, statistics: str) -> None:
        """Take librdkafka's statistics (its stats_cb): a broker that is up ends the outage."""
        if self._since is None:
            return
        brokers = json.loads(statistics).get("brokers", {}).values()
        # Addresses of bootstrap.servers have no id. Their connections end with the first answer, so they prove nothing.
        if any(broker.get("state") == "UP" and broker.get("nodeid", -1) >= 0 for broker in brokers):
            self._ends()

    def _begins(self) -> bool:
        with self._lock:
            begins = self._since is None
            if begins:
                self._since = self._clock()
            return begins

    def _ends(self) -> None:
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            log.warning("broker %s is reachable again after %.0f s", self._servers, self._clock() - since)


def unmask(callback: Callable[..., None]) -> Callable[..., None]:
    """Return a callback that is called in peace, and lets an error pass which was on its way already.

    A fatal error, such as another producer's use of our transactional id, is set as an exception before the client
    calls back with its other messages. Code in the callback that catches exceptions, as logging does in places, would
    take it for its own. The error would be lost, and the client's call would end in a SystemError.
    """

    def call(*given: Any) -> None:
        on_its_way = _on_its_way()
        callback(*given)
        if on_its_way is not None:
            raise on_its_way

    return call


_looks: Callable[[], int] = partial(len, ())
"""A call of C from C: the interpreter looks after it whether an exception is set. After its own calls it may not."""


def _on_its_way() -> BaseException | None:
    """Return the exception that was set before this call, and clear it; None: no exception was set."""
    try:
        _looks()
    except SystemError as error:
        if error.__cause__ is None:
            raise
        return error.__cause__
    return None


def _said_by_us(record: logging.LogRecord) -> bool:
    """Drop the lines, one per partition, that another producer has the transactional id: its user reports that once.

    When partition groups move between workers, this is expected.
    """
    text = record.getMessage()
    # Fencing is how groups move, so librdkafka's lines about it would look like failures.
    return not any(words in text for words in _FENCED)


_LIBRDKAFKA.addFilter(_said_by_us)


class _Logger:
    """What librdkafka logs to."""

    # A class attribute, because a lookup that continues at the instance clears the pending exception.
    log = staticmethod(unmask(_LIBRDKAFKA.log))


def log_options() -> dict[str, Any]:
    """Return the options that bring librdkafka's log lines into ours. They come when the client is polled."""
    return {"log_level": _LOG_LEVEL, "logger": _Logger()}


def outage_options(client: str, servers: str) -> dict[str, Any]:
    """Return the options that log outages of the broker, once each. They are noticed when the client is polled."""
    outage = OutageLog(client, servers)
    return {
        "error_cb": unmask(outage.on_error),
        "stats_cb": unmask(outage.on_statistics),
        "statistics.interval.ms": _STATISTICS_MS,
    }
