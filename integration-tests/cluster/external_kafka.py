"""A Kafka cluster outside the release: TLS, passwords, certificates and ACLs, and a registry with a login."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import registry_proxy
from cluster.forward import BROKER_PORT
from cluster.kube import Namespace
from cluster.manifests import container, headless_service, pod, secret
from cluster.polling import poll_until
from pki import Authority
from secured_broker import PROTOCOLS, broker_properties

HOST = "kafka"
PORTS = {"USERS": 9094, "OWNERS": 9095}
_DOOR_PORT = 8443
REGISTRY_URL = f"https://{HOST}:{_DOOR_PORT}/apis/ccompat/v7"
_REGISTRY_PORT = 8080
_FILES = "/etc/kafka"


class ExternalKafka:
    """A pod with broker and registry. Unencrypted listeners for the administrator are on its loopback address.

    Args:
        folder: Folder for the certificates.
        login: Login of the registry in the form user:password.
    """

    def __init__(self, namespace: Namespace, tag: str, folder: Path, login: str) -> None:
        self.authority = Authority(folder / "pki")
        store = self.authority.server(HOST).read_text()
        files = {
            "store.pem": store,
            "ca.pem": self.authority.certificate.read_text(),
            "server.properties": _properties(),
            "registry_proxy.py": Path(registry_proxy.__file__).read_text(),
        }
        ports = {name.lower(): port for name, port in {**PORTS, "REGISTRY": _DOOR_PORT}.items()}
        namespace.create(
            secret("kafka-files", files),
            secret("door", {"DOOR_LOGIN": login}),
            headless_service(HOST, ports),
            _pod(f"forebay-platform:{tag}"),
        )
        poll_until(lambda: namespace.is_ready(HOST), f"pod/{HOST} is ready", 300)


def _properties() -> str:
    listeners = {name: f"0.0.0.0:{port}" for name, port in PORTS.items()}
    inside = {"PLAINTEXT": "127.0.0.1:9092", "FORWARDED": f"127.0.0.1:{BROKER_PORT}"}
    advertised = {name: f"{HOST}:{port}" for name, port in PORTS.items()}
    protocols = {**dict.fromkeys([*inside, "CONTROLLER"], "PLAINTEXT"), **PROTOCOLS}
    settings = {
        **broker_properties(f"{_FILES}/store.pem", f"{_FILES}/ca.pem"),
        "listeners": _join("://", {**listeners, **inside, "CONTROLLER": "127.0.0.1:9093"}),
        "advertised.listeners": _join("://", {**advertised, **inside}),
        "listener.security.protocol.map": _join(":", protocols),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _join(sign: str, values: dict[str, str]) -> str:
    return ",".join(f"{name}{sign}{value}" for name, value in values.items())


def _pod(image: str) -> dict[str, Any]:
    properties = f"--properties={_FILES}/server.properties"
    broker = ["serve", "broker", "--home=/tmp/kafka", f"--advertise={HOST}", properties]
    registry = ["serve", "registry", "--home=/tmp/registry", f"--port={_REGISTRY_PORT}"]
    door = ["python", f"{_FILES}/registry_proxy.py", str(_DOOR_PORT), f"{_FILES}/store.pem", str(_REGISTRY_PORT)]
    containers = [
        container("broker", image, PORTS["USERS"], args=broker),
        container("registry", image, _REGISTRY_PORT, args=registry),
        container("door", image, _DOOR_PORT, command=door, envFrom=[{"secretRef": {"name": "door"}}]),
    ]
    return pod(HOST, containers, {"kafka-files": _FILES})
