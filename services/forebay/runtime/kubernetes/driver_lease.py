"""Decides which of a job's drivers runs it: the driver that holds the Lease of its Kubernetes Deployment.

A Deployment replaces a pod as soon as it has to end, or its node is lost. Two drivers then overlap. Kafka keeps
the job exact, because a group's producer fences the previous one. The Lease keeps the drivers from fencing each other
again and again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from forebay.http.health import Health
from forebay.runtime.kubernetes.api import ApiConflict, ApiRefused, ApiUnavailable, LeaseObject
from forebay.runtime.kubernetes.executors import ExecutorPods

log = logging.getLogger(__name__)

LEASE_SECONDS = 15.0
_RENEW_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_SILENCE_SECONDS = 30.0
"""How long a driver waits for an API that does not answer. Then it starts: exactness does not depend on the Lease."""


class Lease(Protocol):
    """A Lease that is read and written as a whole."""

    def read(self) -> tuple[str, str]: ...

    def write(self, holder: str, seconds: float) -> None: ...


class DriverLease:
    """Acquires a Lease, renews it, and releases it.

    Args:
        holder: this pod's name. Its next container may take the Lease over at once.
        lost: called if another driver has taken the Lease.
        clock: monotonic seconds.
    """

    def __init__(
        self, lease: Lease, holder: str, lost: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease, self._holder, self._lost, self._clock = lease, holder, lost, clock
        self._seen: tuple[str, str] | None = None
        self._seen_at = self._silent_since = clock()
        self._is_held = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="driver-lease", daemon=True)

    def try_acquire(self) -> str:
        """Return "" if this driver may run the job, otherwise the name of the driver that runs it.

        The age of another driver's renewal is measured only by this process's clock.
        """
        now = self._clock()
        try:
            seen = self._lease.read()
            self._silent_since = now
            # Any change of the Lease counts as a renewal. The times in it are another machine's, so they are not
            # compared with this clock.
            if seen != self._seen:
                self._seen, self._seen_at = seen, now
            other = seen[0]
            # Its own name: a container that was restarted in the same pod continues with the Lease at once.
            if other not in ("", self._holder) and now - self._seen_at < LEASE_SECONDS:
                return other
            self._lease.write(self._holder, LEASE_SECONDS)
        except ApiConflict:
            # Another driver wrote the Lease between this read and this write. The next attempt reads its name.
            return self._seen[0] if self._seen and self._seen[0] else "another driver"
        except ApiUnavailable as error:
            if now - self._silent_since < _SILENCE_SECONDS:
                return f"unknown ({error})"
            log.warning("continuing without the Kubernetes Lease, so a second driver is not prevented: %s", error)
            return ""
        except ApiRefused as error:
            log.warning(
                "continuing without the Kubernetes Lease, so a second driver is not prevented: grant the rights of the "
                "chart's Role: %s",
                error,
            )
            return ""
        self._is_held = True
        return ""

    def start(self) -> None:
        """Begin to renew the Lease, if it is held."""
        if self._is_held:
            self._thread.start()

    def release(self) -> None:
        """Stop renewing, and let the next driver start at once."""
        self._closed.set()
        # It was never held, or another driver has taken it.
        if not self._thread.is_alive():
            return
        self._thread.join(10.0)
        with suppress(ApiConflict, ApiRefused, ApiUnavailable):
            # Another driver may have taken the Lease since, and must keep it.
            if self._lease.read()[0] == self._holder:
                self._lease.write("", LEASE_SECONDS)

    def renew_once(self) -> bool:
        """Renew the Lease; return whether this driver still holds it, as far as the API answers."""
        try:
            other = self._lease.read()[0]
            if other != self._holder:
                self._lost(other or "no driver")
                return False
            self._lease.write(self._holder, LEASE_SECONDS)
        # Not a loss: while the API does not answer, the job continues, because exactness does not depend on the Lease.
        except (ApiConflict, ApiRefused, ApiUnavailable) as error:
            log.debug("the Lease was not renewed: %s", error)
        return True

    def _renew(self) -> None:
        while not self._closed.wait(_RENEW_SECONDS):
            if not self.renew_once():
                return


@contextmanager
def driver_lease(
    pods: ExecutorPods | None, health: Health, pause: Callable[[float], None], stop: Callable[[], None]
) -> Iterator[None]:
    """Hold the Lease of this driver's Deployment. Outside of Kubernetes, this does nothing.

    Args:
        pause: waits for a number of seconds; raises if the job was asked to stop.
        stop: called if another driver has taken the Lease.
    """
    if pods is None:
        yield
        return

    def lost(other: str) -> None:
        log.warning("%s has taken the job's Lease: this driver stops", other)
        stop()

    name = pods.driver_host.partition(".")[0]
    lease = DriverLease(LeaseObject(pods.namespace, name), os.environ.get("POD_NAME") or os.uname().nodename, lost)
    logged = ""
    while other := lease.try_acquire():
        health.failing(f"waiting for the previous driver to end: the Lease {name} is held by {other}")
        if other != logged:
            log.info("waiting for the previous driver to end: the Lease %s is held by %s", name, other)
            logged = other
        pause(_LOOK_SECONDS)
    if logged:
        health.starting()
    lease.start()
    try:
        yield
    finally:
        lease.release()
