"""librdkafka's log lines in our logs, with one line for each begin and end of an outage of the broker."""

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
"""Exit code of a process whose client could not create its threads."""

_FENCED = ("fenced by a newer instance", "attempted an operation with an old epoch")
_ENDS = threading.Event()

NOT_ADMITTED = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED})


def end_when_starved() -> None:
    """Make this process exit if a client can't create its threads for lack of memory, because it would wait for ever.

    Use it in processes that a supervisor restarts.
    """
    _ENDS.set()


class OutageLog:
    """Logs once that the broker can't be reached, and once that it is reachable again.

    Args:
        client: kind of the client, for the log line.
        servers: its bootstrap servers.
        clock: seconds, monotonic.
    """

    def __init__(self, client: str, servers: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._servers = servers
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None

    def on_error(self, error: KafkaError) -> None:
        """Log an error of the client as a whole (librdkafka's error_cb)."""
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
        """End the outage if statistics of librdkafka (its stats_cb) show that a broker is up."""
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
    """Return a callback that runs without the pending exception of the client, and raises it again afterwards.

    After a fatal error, such as another producer's use of our transactional id, the client's C code sets an exception
    and then still calls back with its other messages. Code in the callback that catches exceptions, as logging does in
    places, would take it for its own. The error would be lost, and the client's call would end in a SystemError.
    """

    def call(*given: Any) -> None:
        on_its_way = _on_its_way()
        callback(*given)
        if on_its_way is not None:
            raise on_its_way

    return call


_looks: Callable[[], int] = partial(len, ())
"""A C function called from C, after which the interpreter checks for a pending exception. Other calls may not."""


def _on_its_way() -> BaseException | None:
    """Return the pending exception, and clear it; None: no exception is pending."""
    try:
        _looks()
    except SystemError as error:
        if error.__cause__ is None:
            raise
        return error.__cause__
    return None


def _is_relevant(record: logging.LogRecord) -> bool:
    """Drop the lines, one per partition, about another producer with our transactional id: the caller reports it once.

    When task groups move between workers, this is expected.
    """
    text = record.getMessage()
    # A group's next worker fences the previous one, so librdkafka's lines about it would look like failures.
    return not any(words in text for words in _FENCED)


_LIBRDKAFKA.addFilter(_is_relevant)


class _Logger:
    """The logger that librdkafka uses."""

    # A class attribute, because a lookup that continues at the instance clears the pending exception.
    log = staticmethod(unmask(_LIBRDKAFKA.log))


def log_options() -> dict[str, Any]:
    """Return the options that forward librdkafka's log lines to ours, which happens when the client is polled."""
    return {"log_level": _LOG_LEVEL, "logger": _Logger()}


def outage_options(client: str, servers: str) -> dict[str, Any]:
    """Return the options that log each outage of the broker once. Outages are detected when the client is polled."""
    outage = OutageLog(client, servers)
    return {
        "error_cb": unmask(outage.on_error),
        "stats_cb": unmask(outage.on_statistics),
        "statistics.interval.ms": _STATISTICS_MS,
    }
