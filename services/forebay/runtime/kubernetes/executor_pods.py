"""Watches the executors' pods: which of them have to end, and whether their successors can start before that."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forebay.runtime.kubernetes.api import RETRY_SECONDS, ApiConflict, ApiRefused, ApiUnavailable, watch_events
from forebay.runtime.kubernetes.executors import ExecutorPods

log = logging.getLogger(__name__)

_SETTLE_SECONDS = 2.0
"""How long a pod must lack a node, because the scheduler may find one a moment later."""

_ENDED = ("Failed", "Succeeded")
"""Phases of pods whose containers have ended for good."""


@dataclass(frozen=True, slots=True)
class PodState:
    """The relevant state of an executor's pod.

    Args:
        is_ending: whether Kubernetes has asked the pod to end.
        lacks_node: whether the scheduler has found no node for the pod.
    """

    is_ending: bool
    lacks_node: bool

    @classmethod
    def of(cls, pod: Any) -> PodState:
        """Return the state of a pod of the API."""
        conditions = (pod.status.conditions if pod.status is not None else None) or ()
        lacks_node = any(
            one.type == "PodScheduled" and one.status == "False" and one.reason == "Unschedulable" for one in conditions
        )
        return cls(pod.metadata.deletion_timestamp is not None, lacks_node)


@dataclass(frozen=True, slots=True)
class Blocking:
    """Pods that have to end before their successors can start.

    Args:
        pods: their names.
        is_alone: whether no other executor runs.
    """

    pods: frozenset[str]
    is_alone: bool


def find_blocking(pods: Iterable[tuple[str, PodState]]) -> Blocking | None:
    """Return the pods that prevent their successors from starting; None if no pod waits for that."""
    states = dict(pods)
    ending = frozenset(name for name, state in states.items() if state.is_ending)
    waiting = [state for state in states.values() if state.lacks_node and not state.is_ending]
    running = [state for state in states.values() if not state.lacks_node and not state.is_ending]
    # A pod that waits for a node counts as a successor of the pods that end, and can start once they are gone.
    return Blocking(ending, not running) if ending and waiting else None


class Blockade:
    """Decides when pods should end at once. It does no I/O; the caller passes the time."""

    def __init__(self) -> None:
        self._seen: Blocking | None = None
        self._since = 0.0
        self._handled: frozenset[str] = frozenset()

    def due(self, blocking: Blocking | None, now: float) -> Blocking | None:
        """Return pods that have prevented their successors from starting for a while, once for each set of pods.

        Args:
            now: monotonic seconds.
        """
        if blocking != self._seen:
            self._seen, self._since = blocking, now
        # Pods whose leases were ended are not handled again, because ending leases every second would pause all groups.
        if blocking is None or blocking.pods <= self._handled or now - self._since < _SETTLE_SECONDS:
            return None
        self._handled = blocking.pods
        return blocking


class ExecutorPodWatch:
    """Watches the pods on its own thread, with one open connection instead of polling."""

    def __init__(self, pods: ExecutorPods) -> None:
        self._pods = pods
        self._states: dict[str, PodState] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="executor-pods", daemon=True)

    @property
    def blocking(self) -> Blocking | None:
        """The pods that prevent their successors from starting; None if there are none, or the API does not answer."""
        return find_blocking(list(self._states.items()))

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching. The thread ends when its connection does."""
        self._closed.set()

    def _watch(self) -> None:
        from kubernetes import client  # noqa: PLC0415

        while not self._closed.is_set():
            states: dict[str, PodState] = {}
            try:
                for event in watch_events(
                    "executor pods",
                    lambda api: client.CoreV1Api(api).list_namespaced_pod,
                    self._pods.namespace,
                    label_selector=f"spark-app-selector={self._pods.name}",
                ):
                    _note(states, event)
                    # The states of the previous connection are valid until this connection has listed pods.
                    self._states = states
                    if self._closed.is_set():
                        return
                self._states = states
            except (ApiConflict, ApiRefused, ApiUnavailable) as error:
                log.debug("%s", error)
                # The known states are out of date. Without the API, no pod counts as blocking, and pods end as
                # Kubernetes and Spark end them.
                self._states = {}
                self._closed.wait(RETRY_SECONDS)


def _note(states: dict[str, PodState], event: Any) -> None:
    pod = event["object"]
    # An evicted pod stays in the API until it is deleted, but its containers have ended and its node has room.
    has_ended = pod.status is not None and pod.status.phase in _ENDED
    if event["type"] == "DELETED" or has_ended:
        states.pop(pod.metadata.name, None)
    else:
        states[pod.metadata.name] = PodState.of(pod)
