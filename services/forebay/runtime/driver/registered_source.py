"""The source of leases as registered with Spark, with the limits of commits for the workers of the next query."""

from __future__ import annotations

import logging
from dataclasses import replace

from pyspark.sql import SparkSession

from forebay.runtime.driver.commit_limits import CommitLimits
from forebay.runtime.driver.warming import warm_worker
from forebay.runtime.launch.own_workers import is_local, own_workers
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spark.source import data_source
from forebay.runtime.spec import JobSpec

log = logging.getLogger(__name__)


class RegisteredSource:
    """Registers a job's source of leases with Spark, again whenever the limits of commits change."""

    def __init__(self, session: SparkSession, spec: JobSpec) -> None:
        self._session = session
        self._spec = spec
        self._limits = CommitLimits(spec.limits)

    def prepare(self) -> None:
        """Register the source, and start a worker in advance if workers run on this machine."""
        sealed = SealedSpec(self._spec)
        # The first lease of a local job waits for a Python worker that imports everything. Start it now.
        if is_local(self._session.sparkContext.master or ""):
            warm_worker(self._session, self._spec.application, sealed)
        self._register(sealed)

    def shrink_commits(self) -> None:
        """Make commits smaller until workers run steadily, because one seems to have died for lack of memory."""
        self._limits.shrink()
        self.apply_limits()
        log.warning(
            "%s: a worker was lost, possibly for lack of memory: commits have at most %d records now",
            self._spec.application,
            self._spec.limits.max_records,
        )

    def apply_limits(self) -> None:
        """Register the source again if the limits for the workers of the next query have changed."""
        limits = self._limits.now
        if limits != self._spec.limits:
            # Spark pickles the reader as it starts a query, so only a new registration reaches the workers.
            self._spec = replace(self._spec, limits=limits)
            self._register(SealedSpec(self._spec))

    def may_grow(self) -> bool:
        """Record that workers have run steadily; return whether the query should restart with larger commits."""
        self._limits.note_steady()
        if self._limits.now.max_records <= self._spec.limits.max_records:
            return False
        log.info("%s: the workers run steadily: restarting the query with larger commits", self._spec.application)
        return True

    def _register(self, sealed: SealedSpec) -> None:
        with own_workers(self._session.sparkContext, self._spec.application):
            self._session.dataSource.register(data_source(sealed))
