"""A registry with TLS and a login: Forebay's settings take precedence over those of the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import registry_proxy
from security.secured import Secured

from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings
from forebay.platform.ports import HOST, free_port


@pytest.fixture(scope="module")
def door(broker: Secured) -> Iterator[str]:
    """Yield the URL of a proxy in front of the registry. Its login is forebay:secret."""
    behind = urlsplit(broker.platform.endpoints.registry_url)
    port = free_port()
    store = broker.authority.server("registry")
    command = [sys.executable, registry_proxy.__file__, str(port), str(store), str(behind.port)]
    with subprocess.Popen(command, env={**os.environ, "DOOR_LOGIN": "forebay:secret"}) as process:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((HOST, port), 1).close()
                break
            except OSError:
                assert process.poll() is None, "the proxy has ended"
                assert time.monotonic() < deadline, "the proxy does not listen"
        yield f"https://{HOST}:{port}{behind.path}"
        process.terminate()


def registry(url: str, authority: Path, password: str = "secret") -> SchemaRegistry:
    """Return a client of the registry that trusts this certificate authority."""
    settings = KafkaSettings(
        bootstrap_servers="unused:1",
        schema_registry_url=url,
        schema_registry_username="forebay",
        schema_registry_password=Secret(password),
        schema_registry_ca_location=authority,
    )
    return SchemaRegistry(settings.registry(), patience_s=0)


def test_configured_ca_takes_precedence_over_the_environment(
    broker: Secured, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = Path(os.path.realpath(broker.authority.client("another").certificate))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(others))
    assert registry(door, broker.authority.certificate).compatibility("nothing-yet") is None


def test_a_wrong_password_and_an_untrusted_authority_are_reported(broker: Secured, door: str) -> None:
    with pytest.raises(RegistryRefused, match="refuses the login"):
        registry(door, broker.authority.certificate, "wrong").compatibility("nothing-yet")
    with pytest.raises(RegistryRefused, match="check FOREBAY_SCHEMA_REGISTRY_CA_LOCATION"):
        registry(door, broker.authority.client("third").certificate).compatibility("nothing-yet")
