"""Settings come from arguments and the environment, and become librdkafka's options with safe defaults."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from forebay.kafka.registry_settings import Compatibility
from forebay.kafka.settings import KafkaSettings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FOREBAY_")]:
        monkeypatch.delenv(name)


def settings(**given: Any) -> KafkaSettings:
    return KafkaSettings(**{"bootstrap_servers": "kafka:9092", "schema_registry_url": "http://registry:8081", **given})


def test_consumers_read_committed_records_and_skip_nothing() -> None:
    consumer = settings().consumer()
    assert consumer["bootstrap.servers"] == "kafka:9092"
    assert consumer["isolation.level"] == "read_committed"
    assert consumer["enable.auto.commit"] is False
    assert consumer["auto.offset.reset"] == "error"
    assert consumer["enable.partition.eof"] is True


def test_producers_are_idempotent_and_partition_as_other_clients_do() -> None:
    producer = settings().producer()
    assert producer["partitioner"] == "murmur2_random"
    assert producer["enable.idempotence"] is True


def test_code_overrides_options() -> None:
    assert settings().consumer(**{"group.id": "mine"})["group.id"] == "mine"
    assert settings().producer(**{"transactional.id": "t-0"})["transactional.id"] == "t-0"


def test_each_client_gets_the_options_that_are_meant_for_it() -> None:
    given = settings(kafka={"ssl.ca.location": "ca.pem", "linger.ms": 5, "fetch.min.bytes": "1"})
    chosen = {"ssl.ca.location", "linger.ms", "fetch.min.bytes"}
    assert chosen & given.consumer().keys() == {"ssl.ca.location", "fetch.min.bytes"}
    assert chosen & given.producer().keys() == {"ssl.ca.location", "linger.ms"}
    assert chosen & given.admin().keys() == {"ssl.ca.location"}


def test_values_become_text() -> None:
    producer = settings(kafka={"linger.ms": 5, "socket.keepalive.enable": True}).producer()
    assert (producer["linger.ms"], producer["socket.keepalive.enable"]) == ("5", "true")


def test_the_environment_sets_fields_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_BOOTSTRAP_SERVERS", "elsewhere:9093")
    monkeypatch.setenv("FOREBAY_SCHEMA_REGISTRY_URL", "https://registry/apis/ccompat/v7/")
    monkeypatch.setenv("FOREBAY_SCHEMA_REGISTRY_COMPATIBILITY", "FULL")
    monkeypatch.setenv("FOREBAY_KAFKA_SSL_CA_LOCATION", "ca.pem")
    monkeypatch.setenv("FOREBAY_KAFKA_LOG_LEVEL", "7")
    monkeypatch.setenv("FOREBAY_KAFKA_LINGER_MS", "5")
    found = KafkaSettings(kafka={"linger.ms": "9"})
    assert found.bootstrap_servers == "elsewhere:9093"
    assert found.registry().url == "https://registry/apis/ccompat/v7"
    assert found.registry().compatibility is Compatibility.FULL
    assert found.kafka == {"ssl.ca.location": "ca.pem", "log_level": "7", "linger.ms": "9"}


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem"])
def test_secrets_are_never_shown(name: str) -> None:
    given = settings(kafka={name: "hunter2"}, schema_registry_password="hunter2", schema_registry_token="hunter2")
    assert "hunter2" not in f"{given} {given!r} {given.model_dump()} {given.model_dump_json()} {given.registry()}"
    assert given.consumer()[name] == "hunter2"


def test_secrets_survive_the_way_to_a_worker() -> None:
    given = settings(kafka={"sasl.password": "hunter2"}, schema_registry_password=SecretStr("hunter3"))
    arrived = pickle.loads(pickle.dumps(given))
    assert arrived == given
    assert arrived.consumer()["sasl.password"] == "hunter2"
    assert arrived.registry().password.get_secret_value() == "hunter3"


@pytest.mark.parametrize("url", ["registry:8081", "ftp://registry", "http://", ""])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ValidationError, match="a schema registry's URL is http://host:port"):
        settings(schema_registry_url=url)


def test_credentials_in_the_url_are_refused_without_being_shown() -> None:
    with pytest.raises(ValidationError, match="credentials don't belong into the URL") as caught:
        settings(schema_registry_url="http://me:hunter2@registry:8081")
    assert "hunter2" not in str(caught.value)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        settings(bootstrap_server="kafka:9092")
