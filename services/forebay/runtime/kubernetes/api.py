"""The requests of a driver to the Kubernetes API: its Deployments, its Lease, Events about its pod.

The `kubernetes` package is loaded on first use, because only a driver on Kubernetes needs its 50 MB.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

from forebay.runtime.kubernetes.executors import ExecutorPods

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 5.0
_WATCH_SECONDS = 240
RETRY_SECONDS = 2.0


class ApiUnavailable(Exception):
    """The Kubernetes API does not answer."""


class ApiRefused(Exception):
    """The Kubernetes API refuses a request, for example because the Role lacks a right."""


class ApiConflict(Exception):
    """The object was changed by another client since it was read."""


@cache
def api_client() -> Any:
    """Return the client of this pod's service account. It keeps connections open and rereads the token."""
    from kubernetes import client, config  # noqa: PLC0415

    configuration = client.Configuration()
    config.load_incluster_config(client_configuration=configuration)
    # A proxy for the internet does not know the API server.
    configuration.proxy = None
    configuration.retries = False
    return client.ApiClient(configuration)


@contextmanager
def _translate_errors(doing: str) -> Iterator[None]:
    """Raise ApiConflict, ApiRefused or ApiUnavailable in place of the package's exceptions."""
    from kubernetes.client.exceptions import ApiException  # noqa: PLC0415
    from kubernetes.config import ConfigException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    try:
        yield
    except ApiException as error:
        text = f"{doing}: {error.status} {error.reason}"
        if error.status == 409:
            raise ApiConflict(text) from error
        raise (ApiRefused if 400 <= error.status < 500 and error.status != 429 else ApiUnavailable)(text) from error
    except (HTTPError, OSError, ConfigException) as error:
        raise ApiUnavailable(f"{doing}: {error}") from error


def is_followed(pods: ExecutorPods) -> bool:
    """Return whether this driver's Deployment creates another driver when this one ends.

    If the API does not answer, or the Role does not allow the request, this is False.
    """
    from kubernetes import client  # noqa: PLC0415

    name = pods.driver_host.partition(".")[0]
    try:
        with _translate_errors(f"read Deployment {name}"):
            deployment = client.AppsV1Api(api_client()).read_namespaced_deployment(
                name, pods.namespace, _request_timeout=_TIMEOUT_SECONDS
            )
    except (ApiConflict, ApiRefused, ApiUnavailable) as error:
        log.debug("%s", error)
        return False
    return bool(deployment.spec.replicas) and deployment.metadata.deletion_timestamp is None


def watch_events(
    what: str, list_of: Callable[[Any], Callable[..., Any]], namespace: str, **selector: str
) -> Iterator[dict[str, Any]]:
    """Yield the changes of objects, the existing ones first, until the API ends the connection after minutes.

    Args:
        what: name of the objects in error messages.
        list_of: returns the client's method that lists the objects.
        selector: selects some of them.

    Raises:
        ApiConflict, ApiRefused, ApiUnavailable.
    """
    from kubernetes import watch  # noqa: PLC0415

    with _translate_errors(f"watch {what}"):
        yield from watch.Watch().stream(
            list_of(api_client()),
            namespace,
            timeout_seconds=_WATCH_SECONDS,
            _request_timeout=(_TIMEOUT_SECONDS, _WATCH_SECONDS + _TIMEOUT_SECONDS),
            **selector,
        )


class WantedExecutors:
    """Watches how many executors are wanted, on its own thread, with one open connection instead of polling."""

    def __init__(self, pods: ExecutorPods) -> None:
        self._pods = pods
        self._number: int | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="wanted-executors", daemon=True)

    @property
    def number(self) -> int | None:
        """The replicas of the executors' Deployment; None if the API does not answer."""
        return self._number

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching. The thread ends when its connection does."""
        self._closed.set()

    def _watch(self) -> None:
        from kubernetes import client  # noqa: PLC0415

        while not self._closed.is_set():
            try:
                for event in watch_events(
                    f"Deployment {self._pods.name}",
                    lambda api: client.AppsV1Api(api).list_namespaced_deployment,
                    self._pods.namespace,
                    field_selector=f"metadata.name={self._pods.name}",
                ):
                    self._number = 0 if event["type"] == "DELETED" else event["object"].spec.replicas
                    if self._closed.is_set():
                        return
            except (ApiConflict, ApiRefused, ApiUnavailable) as error:
                log.debug("%s", error)
                self._number = None
                self._closed.wait(RETRY_SECONDS)


class LeaseObject:
    """A Lease of Kubernetes, which the chart creates."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace, self._name = namespace, name
        self._object: Any = None

    def read(self) -> tuple[str, str]:
        """Return the holder ("" if none) and a text that changes with each renewal."""
        from kubernetes import client  # noqa: PLC0415

        with _translate_errors(f"read Lease {self._name}"):
            self._object = client.CoordinationV1Api(api_client()).read_namespaced_lease(
                self._name, self._namespace, _request_timeout=_TIMEOUT_SECONDS
            )
        spec = self._object.spec
        return (spec.holder_identity or "", str(spec.renew_time)) if spec is not None else ("", "")

    def write(self, holder: str, seconds: float) -> None:
        """Set the holder ("" for none) of the Lease that was read. Raises ApiConflict if it has changed since."""
        from kubernetes import client  # noqa: PLC0415

        now = datetime.now(UTC)
        former = self._object.spec or client.V1LeaseSpec()
        is_same = former.holder_identity == holder
        self._object.spec = client.V1LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=int(seconds),
            renew_time=now,
            acquire_time=former.acquire_time if is_same else now,
            lease_transitions=(former.lease_transitions or 0) + (not is_same and bool(holder)),
        )
        with _translate_errors(f"update Lease {self._name}"):
            self._object = client.CoordinationV1Api(api_client()).replace_namespaced_lease(
                self._name, self._namespace, self._object, _request_timeout=_TIMEOUT_SECONDS
            )


def write_event(namespace: str, pod: str, uid: str, reason: str, message: str, *, is_warning: bool) -> None:
    """Write an Event about a pod. If the API does not answer or refuses it, the event is lost."""
    from kubernetes import client  # noqa: PLC0415

    now = datetime.now(UTC)
    event = client.CoreV1Event(
        metadata=client.V1ObjectMeta(generate_name=f"{pod}-", namespace=namespace),
        involved_object=client.V1ObjectReference(api_version="v1", kind="Pod", name=pod, namespace=namespace, uid=uid),
        reason=reason,
        message=message[:1000],
        type="Warning" if is_warning else "Normal",
        first_timestamp=now,
        last_timestamp=now,
        count=1,
        source=client.V1EventSource(component="forebay"),
    )
    with suppress(ApiConflict), _translate_errors(f"write an Event about {pod}"):
        client.CoreV1Api(api_client()).create_namespaced_event(namespace, event, _request_timeout=_TIMEOUT_SECONDS)
