"""The one question a driver has for the Kubernetes API: how many executors are wanted."""

from __future__ import annotations

import json
import logging
import os
import ssl
import urllib.error
import urllib.request

from forebay.runtime.kubernetes import SERVICE_ACCOUNT, ExecutorPods

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 5.0


def wanted_executors(pods: ExecutorPods) -> int | None:
    """Return the StatefulSet's replicas, or None when the API can't be asked now."""
    address = f"{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    url = f"https://{address}/apis/apps/v1/namespaces/{pods.namespace}/statefulsets/{pods.name}"
    try:
        token = (SERVICE_ACCOUNT / "token").read_text(encoding="utf-8").strip()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        trust = ssl.create_default_context(cafile=str(SERVICE_ACCOUNT / "ca.crt"))
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        with direct.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return int(json.load(answer)["spec"]["replicas"])
    except (OSError, ValueError, KeyError) as error:
        log.debug("the number of executors can't be read from %s: %s", url, error)
        return None
