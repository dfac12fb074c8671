"""Has leases end once the job's topics are no longer as they were planned: a lease is planned for fixed partitions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from confluent_kafka import KafkaException

log = logging.getLogger(__name__)


class Planner(Protocol):
    """What plans the leases (see `planner.LeasePlanner`)."""

    def is_outdated(self) -> bool:
        """Return whether topics have changed since the latest leases were planned."""
        ...


class TopicWatch:
    """Compares the topics with the latest plan, on a thread of its own.

    The planner then plans the next leases: it adopts new partitions, and stops the job if a topic was recreated.

    Args:
        planner: of the leases.
        end_leases: has the running leases end. Raises KafkaException.
        seconds: time between two comparisons.
    """

    def __init__(self, planner: Planner, end_leases: Callable[[], None], seconds: float) -> None:
        self._planner = planner
        self._end_leases = end_leases
        self._seconds = seconds
        self._closed = threading.Event()

    def start(self) -> None:
        """Begin to compare."""
        threading.Thread(target=self._watch, name="topics", daemon=True).start()

    def close(self) -> None:
        """End after a running comparison."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds):
            self.look()

    def look(self) -> None:
        """Compare once. After a failure, the next look compares again."""
        try:
            if self._planner.is_outdated():
                log.info("the topics have changed: ending the leases, which are then planned again")
                self._end_leases()
        except KafkaException as error:
            log.debug("the leases can't be ended: %s", error)
        except Exception:
            # Without this thread, the job would never read partitions that are added.
            log.exception("the topics can't be compared with the plan: trying again in %.0f s", self._seconds)
