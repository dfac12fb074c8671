"""Settings come from arguments and the environment, and become librdkafka options with safe defaults."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from forebay.kafka.environment import settings_from_environment
from forebay.kafka.errors import KafkaSettingsError
from forebay.kafka.registry_settings import Compatibility, SchemaIds
from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings


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


def test_admin_clients_connect_to_every_broker_unless_an_option_says_otherwise() -> None:
    option = "enable.sparse.connections"
    assert settings().admin()[option] is False
    assert settings(kafka={option: True}).admin()[option] == "true"
    assert option not in settings().consumer().keys() | settings().producer().keys()


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


ADDRESSES = {
    "FOREBAY_BOOTSTRAP_SERVERS": "elsewhere:9093",
    "FOREBAY_SCHEMA_REGISTRY_URL": "https://registry/apis/ccompat/v7/",
}


def test_the_environment_sets_fields_and_options() -> None:
    environment = {
        **ADDRESSES,
        "FOREBAY_SCHEMA_REGISTRY_COMPATIBILITY": "FULL",
        "FOREBAY_SCHEMA_REGISTRY_IDS": "any",
        "FOREBAY_SCHEMA_REGISTRY_TIMEOUT_S": "2.5",
        "FOREBAY_SCHEMA_REGISTRY_USERNAME": "",
        "FOREBAY_SCHEMA_REGISTRY_TOKEN": "t0ken",
        "FOREBAY_SCHEMA_REGISTRY_CA_LOCATION": "/etc/ca.pem",
        "FOREBAY_KAFKA_SSL_CA_LOCATION": "ca.pem",
        "FOREBAY_KAFKA_LOG_LEVEL": "7",
        "FOREBAY_KAFKA_LINGER_MS": "5",
    }
    result = settings_from_environment(environment, {"linger.ms": "9"})
    registry = result.registry()
    assert result.bootstrap_servers == "elsewhere:9093"
    assert registry.url == "https://registry/apis/ccompat/v7"
    assert (registry.compatibility, result.schema_registry_ids) == (Compatibility.FULL, SchemaIds.ANY)
    assert (registry.timeout_s, registry.username, registry.token) == (2.5, None, Secret("t0ken"))
    assert str(registry.ca_location) == "/etc/ca.pem"
    assert result.kafka == {"ssl.ca.location": "ca.pem", "log_level": "7", "linger.ms": "9"}
    assert settings_from_environment(environment, bootstrap_servers="here:1").bootstrap_servers == "here:1"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COMPATIBILITY", "FULLY", "=FULLY: choose one of NONE, BACKWARD, BACKWARD_TRANSITIVE"),
        ("IDS", "all", "=all: choose one of subject, any"),
        ("TIMEOUT_S", "soon", "=soon: specify a number of seconds"),
        ("TIMEOUT_S", "0", ": specify a number above 0"),
        ("TIMEOUT_S", "nan", ": specify a number above 0"),
        ("URL", "registry:8081", ": write http://host:port"),
        ("URL", "", " is not set"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name: str, value: str, message: str) -> None:
    variable = f"FOREBAY_SCHEMA_REGISTRY_{name}"
    with pytest.raises(KafkaSettingsError) as caught:
        settings_from_environment({**ADDRESSES, variable: value})
    assert str(caught.value).startswith(f"{variable}{message}")


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem"])
def test_secrets_are_never_shown(name: str) -> None:
    secret = Secret("hunter2")
    given = settings(kafka={name: "hunter2"}, schema_registry_password=secret, schema_registry_token=secret)
    assert "hunter2" not in f"{given} {given!r} {given.kafka} {given.registry()} {secret} {secret!r}"
    assert given.consumer()[name] == "hunter2"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_end_of_a_file_is_no_part_of_a_secret(end: str) -> None:
    names = ["SCHEMA_REGISTRY_PASSWORD", "SCHEMA_REGISTRY_TOKEN", "KAFKA_SASL_PASSWORD"]
    given = settings_from_environment({**ADDRESSES, **{f"FOREBAY_{name}": f"hunter 2{end}" for name in names[::2]}})
    assert given.consumer()["sasl.password"] == "hunter 2"
    assert given.registry().password == Secret("hunter 2")
    given = settings_from_environment({**ADDRESSES, f"FOREBAY_{names[1]}": f"hunter2{end}"})
    assert given.registry().token == Secret("hunter2")


@pytest.mark.parametrize("token", ["hunter2 hunter3", "hunter2\nhunter3", "hunter2\u20ac"])
def test_a_token_that_no_header_can_hold_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(KafkaSettingsError, match=r"^FOREBAY_SCHEMA_REGISTRY_TOKEN: a token has only ASCII") as caught:
        settings_from_environment({**ADDRESSES, "FOREBAY_SCHEMA_REGISTRY_TOKEN": token})
    assert "hunter" not in str(caught.value)


def test_secrets_survive_the_way_to_a_worker() -> None:
    given = settings(kafka={"sasl.password": "hunter2"}, schema_registry_password=Secret("hunter3"))
    arrived = pickle.loads(pickle.dumps(given))
    assert arrived == given
    assert arrived.consumer()["sasl.password"] == "hunter2"
    assert arrived.registry().password.reveal() == "hunter3"


@pytest.mark.parametrize("url", ["registry:8081", "ftp://registry", "http://", ""])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(KafkaSettingsError, match=r"^FOREBAY_SCHEMA_REGISTRY_URL: write http://host:port or https"):
        settings(schema_registry_url=url)


def test_a_url_that_can_t_be_read() -> None:
    with pytest.raises(KafkaSettingsError, match=r"^FOREBAY_SCHEMA_REGISTRY_URL is not a valid URL: Invalid IPv6 URL$"):
        settings(schema_registry_url="http://[::1/")


def test_credentials_in_the_url_are_refused_without_being_shown() -> None:
    with pytest.raises(KafkaSettingsError, match="must not contain credentials") as caught:
        settings(schema_registry_url="http://me:hunter2@registry:8081")
    assert "hunter2" not in str(caught.value)


def test_a_broker_is_named() -> None:
    with pytest.raises(KafkaSettingsError, match="FOREBAY_BOOTSTRAP_SERVERS: name at least one broker"):
        settings(bootstrap_servers="")
