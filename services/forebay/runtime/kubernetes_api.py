"""What a driver asks the Kubernetes API: how many executors are wanted, and whether another driver follows it."""

from __future__ import annotations

import json
import logging
import os
import ssl
import urllib.error
import urllib.request
from typing import Any

from forebay.runtime.kubernetes import SERVICE_ACCOUNT, ExecutorPods

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 5.0


def wanted_executors(pods: ExecutorPods) -> int | None:
    """Return the StatefulSet's replicas, or None when the API can't be asked now."""
    found = _stateful_set(pods.namespace, pods.name)
    return None if found is None else int(found["spec"]["replicas"])


def is_followed(pods: ExecutorPods) -> bool:
    """Return whether this driver's StatefulSet makes another one when this one ends: it is wanted, and not deleted.

    If the API does not answer, or an older role forbids the request, the driver does not wait for a successor.
    """
    found = _stateful_set(pods.namespace, pods.driver_host.partition(".")[0])
    return found is not None and found["spec"]["replicas"] > 0 and "deletionTimestamp" not in found["metadata"]


def _stateful_set(namespace: str, name: str) -> dict[str, Any] | None:
    """Return what the API has of a StatefulSet, None where it can't be asked."""
    address = f"{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    url = f"https://{address}/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"
    try:
        token = (SERVICE_ACCOUNT / "token").read_text(encoding="utf-8").strip()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        trust = ssl.create_default_context(cafile=str(SERVICE_ACCOUNT / "ca.crt"))
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        with direct.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
        return found if isinstance(found["spec"]["replicas"], int) else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("a StatefulSet can't be read from %s: %s", url, error)
        return None
