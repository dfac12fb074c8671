"""Kubernetes Events about the driver's pod, one for each change of the readiness reason."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forebay.http.health import Health, Verdict
from forebay.runtime.kubernetes.api import ApiRefused, ApiUnavailable, write_event
from forebay.runtime.kubernetes.executors import ExecutorPods

log = logging.getLogger(__name__)

_LOOK_SECONDS = 2.0
_NUMBERS = re.compile(r"\d+(\.\d+)?")


class ReadinessEvents:
    """Decides which changes of the readiness reason are written as Events.

    A reason counts once two checks in a row have seen it. Reasons that differ only in numbers, such as seconds, are the
    same reason.

    Args:
        write: called with the verdict. Raises ApiRefused, ApiUnavailable.
    """

    def __init__(self, write: Callable[[Verdict], None]) -> None:
        self._write = write
        self._written = self._seen = ""
        self._is_refused = False

    def look(self, verdict: Verdict) -> None:
        """Write an Event if the reason has changed. If it can't be written, the next call writes it."""
        reason = _NUMBERS.sub("N", verdict.reason)
        is_stable, self._seen = reason == self._seen, reason
        if not is_stable or reason == self._written or self._is_refused:
            return
        try:
            self._write(verdict)
        except ApiUnavailable as error:
            log.debug("%s", error)
            return
        except ApiRefused as error:
            self._is_refused = True
            log.warning("no Kubernetes Events are written: grant the rights of the chart's Role: %s", error)
        self._written = reason


@contextmanager
def readiness_events(pods: ExecutorPods | None, health: Health) -> Iterator[None]:
    """Write Events while the block runs. Outside of Kubernetes, nothing is written."""
    pod, uid = os.environ.get("POD_NAME", ""), os.environ.get("POD_UID", "")
    if pods is None or not pod:
        yield
        return
    namespace = pods.namespace

    def write(verdict: Verdict) -> None:
        reason = "Ready" if verdict.ok else "NotReady"
        write_event(namespace, pod, uid, reason, verdict.reason, is_warning=not verdict.ok and not health.is_starting)

    events, closed = ReadinessEvents(write), threading.Event()

    def watch() -> None:
        while not closed.wait(_LOOK_SECONDS):
            events.look(health.ready())

    thread = threading.Thread(target=watch, name="readiness-events", daemon=True)
    thread.start()
    try:
        yield
    finally:
        closed.set()
        thread.join(10.0)
