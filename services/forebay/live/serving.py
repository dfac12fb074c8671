"""Answers queries of the job that runs: its stores are followed while the statements do not change."""

from __future__ import annotations

import logging
import threading

from forebay.kafka.errors import TopicMissing
from forebay.queries.server import QueryServer

log = logging.getLogger(__name__)

_RETRY_S = 0.5
_EVERY_S = 0.1


class Serving:
    """A query server on a thread, without a port of its own.

    Args:
        server: of the job as the statements describe it now.
    """

    def __init__(self, server: QueryServer) -> None:
        self.server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="queries", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Follow no more."""
        self._stop.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.server.follow(_EVERY_S, self._stop)
            except TopicMissing as error:  # the job has just been created, and its changelogs have not
                log.debug("the stores can't be read yet: %s", error)
                self._stop.wait(_RETRY_S)
