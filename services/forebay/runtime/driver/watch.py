"""Watches a running job: lag of its input partitions, changes of its topics, rights it lacks."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

from forebay.http.health import Health
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.retrying import REFUSED_S
from forebay.runtime.driver.broker_lag import BrokerLag
from forebay.runtime.driver.pattern_inputs import MatchWatch
from forebay.runtime.driver.rights import JobRights
from forebay.runtime.errors import StopJob, Unavailable
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spec import JobSpec

log = logging.getLogger(__name__)

_RIGHTS_SECONDS = 10.0


class Watcher:
    """Checks the job every few seconds, on its own thread.

    Args:
        rights: explains refusals of the broker, and is checked at intervals, because some refusals look like silence.
        compare_topics: called with the digest of the topics (`LeasePlanner.topics`) once two checks in a row have shown
            the same. While the controller moves, a broker may describe topics wrongly for a moment.
        end: called with the reason once the broker has refused the login for a minute. None: the job keeps trying.
        planner: describes the topics; None: a new one.
        lag: reads the lag from the broker; None: a new reader.
        monotonic: returns the time in seconds.
    """

    def __init__(
        self,
        spec: JobSpec,
        metrics: JobMetrics,
        health: Health,
        rights: JobRights,
        compare_topics: Callable[[str], None],
        seconds: float = 2.0,
        end: Callable[[str], None] | None = None,
        planner: LeasePlanner | None = None,
        lag: BrokerLag | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._planner = planner or LeasePlanner(spec, timeout=5.0)
        self._compare_topics = compare_topics
        self._interval = spec.limits.checkpoint_interval_ms / 1000
        self._topics_due_at = monotonic() + self._interval
        self._topics: str | None = None
        """Digest of the topics at the latest check; None: the broker did not answer."""
        self._metrics, self._health, self._seconds = metrics, health, seconds
        self._application = spec.application
        self._tasks, self._lag = spec.tasks, lag or BrokerLag(spec.kafka, spec.application)
        self._rights, self._logged = rights, ""
        self._rights_looked_at = monotonic()
        self._kafka, self._matches = spec.kafka, MatchWatch(spec) if spec.matched else None
        self._end, self._ended = end, False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End, within seconds."""
        self._closed.set()
        self._thread.join(10.0)

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds):
            self.look()

    def look(self) -> None:
        """Run the checks that are due. Only the watcher's thread calls this."""
        self._guard(self._look_at_lag)
        if self._monotonic() >= self._topics_due_at:
            self._guard(self._look_at_topics)
        if self._monotonic() - self._rights_looked_at > _RIGHTS_SECONDS:
            self._guard(self._look_at_rights)
            self._guard(self._look_at_matches)

    def _guard(self, look: Callable[[], None]) -> None:
        try:
            look()
        except (Unavailable, StopJob) as error:
            self._health.failing(self._rights.explain(str(error)))
        except KafkaException as error:
            log.debug("watching failed: %s", error)
        except Exception:
            # Without this thread, the job would never read partitions that are added.
            log.exception(
                "%s: the driver's check of topics, rights and lag failed: retrying in %.0f s",
                self._application,
                self._seconds,
            )

    def _look_at_topics(self) -> None:
        # Set before the request, so that a request that fails is not repeated in each round.
        self._topics_due_at = self._monotonic() + self._interval
        before, self._topics = self._topics, self._planner.topics()
        if self._topics is None:
            return
        if self._topics == before:
            self._compare_topics(self._topics)
        else:
            # The next round shows whether the topics stay as they are.
            self._topics_due_at = self._monotonic()

    def _look_at_rights(self) -> None:
        trouble = self._rights.trouble()
        self._rights_looked_at = self._monotonic()
        if trouble:
            self._health.failing(trouble)
        if self._end is not None and not self._ended and self._rights.refused_seconds >= REFUSED_S:
            self._ended = True
            self._end(trouble)
        if trouble != self._logged:
            log.warning("%s: %s", self._application, trouble or "the broker reports no missing right any more")
            self._logged = trouble

    def _look_at_matches(self) -> None:
        if self._matches is not None:
            for topic in self._matches.look(TopicAdmin(self._kafka, 5.0).names()):
                log.warning(
                    "the topic %s also matches the job's pattern: the job reads it after its next restart", topic
                )

    def _look_at_lag(self) -> None:
        """Use the lag that tasks report; for the other partitions, read it from the broker.

        A running job commits to the marker group once a second, so the broker's figure is up to a second behind.
        """
        latest = self._planner.broker.latest()
        lag: dict[tuple[str, int], int] = {}
        silent: dict[tuple[str, int], int] = {}
        for topic, ends in latest.items():
            for partition, end in enumerate(ends):
                records = self._metrics.reported_lag.of(topic, partition, self._tasks)
                if records is None:
                    silent[topic, partition] = end
                else:
                    lag[topic, partition] = records
        self._metrics.observe_lag(lag | self._lag.read(silent))
