"""A Kafka cluster that is not the release's: TLS, passwords, certificates and ACLs, and a registry with a login."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import registry_door
from forward import BROKER_PORT
from kube import Namespace
from pki import Authority
from polling import poll_until
from secured_broker import PROTOCOLS, broker_properties

HOST = "kafka"
PORTS = {"USERS": 9094, "OWNERS": 9095}
REGISTRY_URL = f"https://{HOST}:8443/apis/ccompat/v7"
_REGISTRY_PORT = 8080
_FILES = "/etc/kafka"
_USER = 10001


class ExternalKafka:
    """A pod with broker and registry; what is plain there is on its loopback address, for the administrator.

    Args:
        folder: where certificates are made.
        login: the registry's, user:password.
    """

    def __init__(self, namespace: Namespace, tag: str, folder: Path, login: str) -> None:
        self.authority = Authority(folder / "pki")
        store = self.authority.server(HOST).read_text()
        files = {
            "store.pem": store,
            "ca.pem": self.authority.certificate.read_text(),
            "server.properties": _properties(),
            "registry_door.py": Path(registry_door.__file__).read_text(),
        }
        namespace.create(
            secret("kafka-files", files),
            secret("door", {"DOOR_LOGIN": login}),
            _service(),
            _pod(f"forebay-platform:{tag}"),
        )
        poll_until(lambda: namespace.is_ready(HOST), f"pod/{HOST} is ready", 300)


def secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    """Give a Secret."""
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}


def _properties() -> str:
    listeners = {name: f"0.0.0.0:{port}" for name, port in PORTS.items()}
    inside = {"PLAINTEXT": "127.0.0.1:9092", "FORWARDED": f"127.0.0.1:{BROKER_PORT}"}
    advertised = {name: f"{HOST}:{port}" for name, port in PORTS.items()}
    protocols = {**dict.fromkeys([*inside, "CONTROLLER"], "PLAINTEXT"), **PROTOCOLS}
    settings = {
        **broker_properties(f"{_FILES}/store.pem", f"{_FILES}/ca.pem"),
        "listeners": _joined("://", {**listeners, **inside, "CONTROLLER": "127.0.0.1:9093"}),
        "advertised.listeners": _joined("://", {**advertised, **inside}),
        "listener.security.protocol.map": _joined(":", protocols),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _joined(sign: str, values: dict[str, str]) -> str:
    return ",".join(f"{name}{sign}{value}" for name, value in values.items())


def _service() -> dict[str, Any]:
    ports = [{"name": name.lower(), "port": port} for name, port in {**PORTS, "REGISTRY": 8443}.items()]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": HOST},
        "spec": {"clusterIP": "None", "selector": {"app": HOST}, "ports": ports, "publishNotReadyAddresses": True},
    }


def _pod(image: str) -> dict[str, Any]:
    broker = (
        "serve",
        "broker",
        "--home=/data/kafka",
        f"--advertise={HOST}",
        f"--properties={_FILES}/server.properties",
    )
    door = ("python", f"{_FILES}/registry_door.py", "8443", f"{_FILES}/store.pem", str(_REGISTRY_PORT))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": HOST, "labels": {"app": HOST}},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "fsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                _container("broker", image, args=list(broker), readinessProbe=_probe(PORTS["USERS"])),
                _container(
                    "registry",
                    image,
                    args=["serve", "registry", "--home=/data/registry", f"--port={_REGISTRY_PORT}"],
                    readinessProbe=_probe(_REGISTRY_PORT),
                ),
                _container("door", image, command=list(door), envFrom=[{"secretRef": {"name": "door"}}]),
            ],
            "volumes": [
                {"name": "files", "secret": {"secretName": "kafka-files"}},
                {"name": "data", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
    }


def _probe(port: int) -> dict[str, Any]:
    return {"tcpSocket": {"port": port}, "periodSeconds": 2, "timeoutSeconds": 5}


def _container(name: str, image: str, **more: Any) -> dict[str, Any]:
    mounts = {"files": _FILES, "data": "/data", "tmp": "/tmp"}
    return {
        "name": name,
        "image": image,
        "env": [{"name": "HOME", "value": "/tmp"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in mounts.items()],
        **more,
    }
