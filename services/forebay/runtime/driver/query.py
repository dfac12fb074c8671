"""Runs a job's streaming query: starts it, watches it, restarts it after a failure, and ends its leases."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaException
from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from forebay.runtime.driver.lease_end import LeaseEnd, ended_by_another
from forebay.runtime.driver.leased_topics import LeasedTopics
from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.query_failures import QUERY_ERRORS, QueryFailures
from forebay.runtime.driver.registered_source import RegisteredSource
from forebay.runtime.driver.steadiness import Steadiness
from forebay.runtime.errors import LeasesEnded
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.statistics import TaskFigures
from forebay.utils.flags import Flag

log = logging.getLogger(__name__)

_END_REQUESTED = "forebay.end-requested"
_OBSERVE_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 5.0

Observer = Callable[[list[TaskFigures], str], None]
"""Called about once a second, with the tasks' statistics and with what a group waits for."""


class JobRunner:
    """Runs one job until it is asked to stop, has reached its end offsets, or cannot continue.

    Args:
        failed: called with the reason of a failure; returns it with the remedy.
        is_followed: returns whether another driver will replace this one, once it is asked to stop.
        monotonic: returns the time in seconds.
    """

    def __init__(
        self,
        session: SparkSession,
        spec: JobSpec,
        plan: Plan,
        observer: Observer,
        failed: Callable[[str], str] = lambda cause: cause,
        is_followed: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._spec = spec
        self._plan = plan
        self._observer = observer
        self._failed = failed
        self._is_followed = is_followed
        self._monotonic = monotonic
        self._source = RegisteredSource(session, spec)
        self._topics = LeasedTopics(spec.application)
        self._stopping = Flag()
        self._rebalancing = threading.Event()
        self._expects_leases = True
        self._restarting = threading.Event()
        self._abandoning = threading.Event()
        self._progressed = threading.Event()
        self.query: StreamingQuery | None = None
        self.placed_at = monotonic()
        """When Spark last began to place the groups, by the monotonic clock."""
        self._steadiness = self._new_steadiness()
        self._lease_end = LeaseEnd(monotonic)
        self._is_cut_short = False
        """Whether the latest leases were ended before their end offsets."""
        self._control: DriverControl | None = None
        """The driver's side of the control group, while a query runs."""
        self._started_at = -1
        """Time (ms) of the command by which this driver ends earlier leases when its query starts."""

    def _new_steadiness(self) -> Steadiness:
        return Steadiness(self._spec.limits.checkpoint_interval_ms / 1000, self._monotonic)

    @property
    def _has_ends(self) -> bool:
        """Whether this driver plans leases with end offsets."""
        return self._plan.trigger is Trigger.AVAILABLE_NOW

    def stop(self) -> None:
        """Ask the job to end once its running leases have. Safe in a signal handler."""
        self._stopping.set()

    def rebalance(self, *, is_followed: bool = True) -> None:
        """End the leases, so that Spark spreads the groups over all executors with the next ones.

        Args:
            is_followed: whether workers may expect other leases soon.
        """
        if self._has_ends:
            # Leases with end offsets would end, too, and this query would consider everything read.
            return
        self._expects_leases = is_followed
        self._rebalancing.set()

    def compare_topics(self, topics: str) -> None:
        """End the running leases if their topics have changed since they were planned. Any thread may call it.

        Args:
            topics: digest of the topics as they are now.
        """
        self._topics.compare(topics, has_ends=self._has_ends)

    def end_former_leases(self) -> None:
        """End the leases of an earlier driver, and the loops that wait for other leases. Call it before `run`."""
        control = self._connect()
        with suppress(KafkaException):
            control.end_leases(is_followed=False)
        control.close()

    def abandon(self) -> None:
        """End without waiting for the running leases, whose workers are gone."""
        self._abandoning.set()

    def run(self) -> None:
        """Run the job. Raises JobStopped, LeasesEnded."""
        self._prepare()
        failures = QueryFailures(self._spec.application, self._source.shrink_commits, self._failed)
        while not self._stopping.is_set():
            self._progressed.clear()
            self._restarting.clear()
            self._source.apply_limits()
            try:
                self._run_query()
                if self._has_finished:
                    return
            except QUERY_ERRORS as error:
                if _END_REQUESTED in str(error):
                    continue
                self._pause(failures.pause_after(error, has_progressed=self._progressed.is_set()))

    @property
    def _has_finished(self) -> bool:
        """Whether the query has ended and the job starts no other query."""
        # This driver's own command may end the leases that it plans next, if its planner could not read the command.
        return not self._restarting.is_set() and not self._is_cut_short

    def _prepare(self) -> None:
        self._source.prepare()

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _connect(self) -> DriverControl:
        return DriverControl(self._spec)

    def _run_query(self) -> None:
        frame = self._session.readStream.format("forebay").load()
        writer = (
            frame.writeStream.queryName(self._spec.application)
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", self._plan.checkpoint)
        )
        if self._has_ends:
            writer = writer.trigger(availableNow=True)
        control = self._control = self._connect()
        # Spark repeats the leases that an earlier run planned. Nothing is left to do in them.
        with suppress(KafkaException):
            control.end_leases(is_followed=True)
        # The leases that a rebalance would end have just been ended.
        self._rebalancing.clear()
        self._started_at = control.sent
        self._lease_end = LeaseEnd(self._monotonic, ended=control.command)
        query = self.query = writer.start()
        self.placed_at = self._monotonic()
        self._steadiness = self._new_steadiness()
        asked_at = observed_at = 0.0
        asked = False, False
        try:
            while not query.awaitTermination(0.2):  # type: ignore[arg-type]
                now = self._monotonic()
                # Stopping a query cancels the tasks that hold its leases. Unless their workers are gone, it waits until
                # no lease runs.
                if self._abandoning.is_set() or (self._ending and self._is_idle(query)):
                    query.stop()
                    return
                cause = self._is_asked, self._stopping.is_set()
                # At once if the job stops, because leases that are ending would wait for others, which do not follow.
                is_due = cause != asked or now - asked_at >= _ASK_AGAIN_SECONDS
                if self._must_end(control) and is_due:
                    asked, asked_at = cause, now
                    self._end_leases(control)
                if self._is_hindered(control):
                    query.stop()
                    return
                if now - observed_at >= _OBSERVE_SECONDS:
                    observed_at = now
                    self._observe_tasks(control)
        finally:
            control.close()
            with suppress(Py4JNetworkError, ConnectionError):
                if query.isActive:
                    query.stop()

    @property
    def _is_asked(self) -> bool:
        return self._ending or self._rebalancing.is_set()

    def _must_end(self, control: DriverControl) -> bool:
        """Return whether all leases should end, or those that tasks have reported."""
        return self._is_asked or self._lease_end.is_expected or control.planned == self._topics.outdated

    def _end_leases(self, control: DriverControl) -> None:
        """End the leases; only those that tasks have reported if the driver is not asked to end all."""
        # Repeated until all leases have ended, because a worker may have missed a command that another one replaced.
        is_asked = self._is_asked
        if is_asked:
            self._lease_end.expect()
        with suppress(KafkaException):
            if is_asked:
                control.end_leases(is_followed=self._leases_follow)
            else:
                control.end_reported(is_followed=self._leases_follow)
            self._lease_end.note_sent()

    def _is_hindered(self, control: DriverControl) -> bool:
        """Return whether leases should have ended by now. Then the query stops, and restarts unless the job ends.

        Raises:
            LeasesEnded: another driver ends leases with end offsets.
        """
        hindrance = self._lease_end.hindrance(is_last=self._ending)
        if not hindrance or not (self._expects_leases or self._ending):
            return False
        are_with_ends = self._has_ends and not control.topics
        if are_with_ends and not self._ending and control.planned > self._started_at:
            raise self._ended_by_another(control)
        log.warning("%s: %s: Spark stops their tasks; nothing is lost", self._spec.application, hindrance)
        self._restarting.set()
        return True

    def _observe_tasks(self, control: DriverControl) -> None:
        try:
            figures, trouble = control.figures()
        except KafkaException as error:
            log.debug("the tasks' statistics can't be read: %s", error)
            self._lease_end.note_silence()
            return
        self._topics.note(control.planned, control.topics)
        self._lease_end.observe(control.command, control.planned, control.begun)
        if self._steadiness.observe(figures, trouble):
            self._progressed.set()
            if self._source.may_grow():
                # Limits reach the workers when a query starts. A running query keeps its limits.
                self._restarting.set()
        self._observer(figures, trouble)

    @property
    def _ending(self) -> bool:
        return self._stopping.is_set() or self._restarting.is_set()

    @property
    def _leases_follow(self) -> bool:
        return self._is_followed() if self._stopping.is_set() else self._expects_leases

    def _is_idle(self, query: StreamingQuery) -> bool:
        status = query.status
        return not status["isTriggerActive"] and not status["isDataAvailable"]

    def _ended_by_another(self, control: DriverControl | None) -> LeasesEnded:
        """Return the error of a run whose leases another driver ended before everything was read."""
        assert control is not None, "leases have ended without a query"
        with suppress(KafkaException):
            control.last_command()
        return ended_by_another(self._spec.application, control.other)

    def _on_batch(self, frame: DataFrame, batch_id: int) -> None:
        if self._ending:
            # This ends the query. If this call returned, Spark would start the next batch, with new leases.
            raise InterruptedError(_END_REQUESTED)
        results = [LeaseResult.from_json(row["result"]) for row in frame.collect()]
        cut_short = [result.planned_at for result in results if result.is_cut_short]
        self._is_cut_short = bool(cut_short)
        # A query ends the leases of an earlier run when it starts, so only later leases are an error.
        if cut_short and max(cut_short) > self._started_at:
            raise self._ended_by_another(self._control)
        reports = [TaskFigures.from_json(text) for result in results for text in result.reports]
        self._rebalancing.clear()
        self._lease_end.over()
        self._expects_leases = True
        if reports:
            # A lease that had ended before it began reports nothing.
            self._progressed.set()
        self.placed_at = self._monotonic()
        log.debug("Spark batch %d has ended", batch_id)
        self._observer(sorted(reports, key=lambda item: (item.sub_topology, item.task)), "")
