"""Kubernetes objects that tests create in addition to a release. Their pods satisfy the Restricted standard."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

USER = 10001


def secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    """Return a Secret."""
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}


def headless_service(name: str, ports: dict[str, int]) -> dict[str, Any]:
    """Return a headless Service for the pod of the same name, whether or not it is ready."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"app": name},
        "ports": [{"name": of, "port": port} for of, port in ports.items()],
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def pod(name: str, containers: list[dict[str, Any]], secrets: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a pod whose containers share /tmp.

    Args:
        secrets: Paths at which Secrets are mounted into all containers, by name of the Secret.
    """
    mounted = secrets or {}
    mounts = [{"name": volume, "mountPath": path} for volume, path in {"tmp": "/tmp", **mounted}.items()]
    spec = {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [{**container, "volumeMounts": mounts} for container in containers],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            *({"name": volume, "secret": {"secretName": volume}} for volume in mounted),
        ],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def container(name: str, image: str, probed: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a container that is ready once it listens on the port `probed`."""
    probe = {"tcpSocket": {"port": probed}, "periodSeconds": 2, "timeoutSeconds": 5}
    return {
        "name": name,
        "image": image,
        "env": [{"name": "HOME", "value": "/tmp"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **({} if probed is None else {"readinessProbe": probe}),
        **more,
    }
