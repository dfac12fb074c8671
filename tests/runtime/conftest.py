"""Fixtures shared by the runtime's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import client

from forebay.runtime.kubernetes import api as kubernetes_api
from tests.runtime.kubernetes_server import FakeApi, fake_api


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """Serve a fake Kubernetes API and connect Forebay's client to it, without retries."""
    with fake_api() as api:
        configuration = client.Configuration(host=api.address)
        configuration.retries = False
        connection = client.ApiClient(configuration)
        monkeypatch.setattr(kubernetes_api, "api_client", lambda: connection)
        yield api
