"""Requests go to the registry of the environment only if definitions need it. Checks register nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import run
from forebay.formats import no_contracts
from forebay.kafka.registry import shared_registry
from forebay.kafka.registry_http import Answer, RegistryHttp
from forebay.ksml.errors import KsmlError
from forebay.ksml.mounting import environment, mount, read_mounts
from forebay.ksml.registered import NEEDED, URL
from forebay.serde.framing import header

TEXT = """
streams:
  visits: {topic: visits, keyType: avro:Place, valueType: avro}
pipelines:
  main: {from: visits, to: {topic: out, keyType: avro:Place, valueType: avro:Place}}
"""
PLACE = '{"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}'
Requests = list[tuple[str, str]]


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    (tmp_path / "Place.avsc").write_text(PLACE)
    file = tmp_path / "places.yaml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[Requests]:
    """Set a registry that has the schema of the topic, and yield the requests that it receives."""
    results: Requests = []

    def send(_: RegistryHttp, method: str, path: str, body: Any = None) -> Answer:
        results.append((method, path))
        if path == "/subjects/visits-value/versions/latest":
            return Answer(200, {"schema": PLACE, "id": 11})
        return Answer(404, {}) if path.endswith("latest") else Answer(200, {"id": 12})

    monkeypatch.setattr(RegistryHttp, "send", send)
    monkeypatch.setenv(URL, f"http://registry.test/{id(results)}")
    yield results
    shared_registry.cache_clear()


def test_a_job_s_keys_have_the_registry_s_id(definition: Path, requests: Requests) -> None:
    job = mount("places", [definition], registry=NEEDED).job
    keys = job.format_of("visits").key.codec(no_contracts)
    assert keys.encode({"city": "Delft"}) == header(12) + b"\nDelft"
    assert {path for method, path in requests if method == "POST"} == {"/subjects/visits-key", "/subjects/out-key"}
    assert ("GET", "/subjects/visits-value/versions/latest") in requests


def test_check_reads_the_registry_but_registers_nothing(definition: Path, requests: Requests) -> None:
    assert run(["ksml", "check", str(definition)]) == 0
    assert requests == [("GET", "/subjects/visits-value/versions/latest")] * len(requests)
    assert requests


def test_a_process_of_a_job_without_a_registry_is_refused(definition: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL, raising=False)
    with pytest.raises(KsmlError, match=f"places.yaml:3: .*need one in every process of the job: set {URL}"):
        read_mounts(environment("places", [definition]), NEEDED)
