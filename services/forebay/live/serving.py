"""Answers queries of the running job, whose stores are followed while the statements do not change."""

from __future__ import annotations

import logging
import threading

from forebay.kafka.errors import TopicMissing
from forebay.queries.server import QueryServer

log = logging.getLogger(__name__)

_RETRY_S = 0.5
_EVERY_S = 0.1


class Serving:
    """A query server on a thread, without its own port.

    Args:
        server: query server of the current statements' job.
    """

    def __init__(self, server: QueryServer) -> None:
        self.server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="queries", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following the stores."""
        self._stop.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.server.follow(_EVERY_S, self._stop)
            except TopicMissing as error:  # the changelogs of a new job are not created yet
                log.debug("the stores can't be read yet: %s", error)
                self._stop.wait(_RETRY_S)
