"""A broker's settings contain the addresses on which it listens, and those that it advertises to clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.platform import PlatformError
from forebay.platform.broker_settings import Listener, Listeners, read_properties, server_properties


def properties(listeners: Listeners) -> dict[str, str]:
    lines = server_properties(listeners, Path("data")).splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def test_a_broker_of_this_machine_stays_on_the_loopback_address() -> None:
    settings = properties(Listeners(9092, 9093))
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9092"


def test_a_broker_of_a_cluster_is_known_by_its_service_and_through_a_forwarded_port() -> None:
    settings = properties(Listeners(9092, 9093, "0.0.0.0", "demo-broker", 19092))
    assert settings["listeners"] == ("PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093,FORWARDED://0.0.0.0:19092")
    assert settings["advertised.listeners"] == "PLAINTEXT://demo-broker:9092,FORWARDED://127.0.0.1:19092"
    assert settings["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,FORWARDED:PLAINTEXT"
    )


def test_further_listeners_and_settings_are_added_and_win() -> None:
    listeners = Listeners(9092, 9093, others=(Listener("SECURE", "SASL_SSL", 9094),))
    lines = server_properties(listeners, Path("data"), {"num.io.threads": "1"}).splitlines()
    assert "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093,SECURE://127.0.0.1:9094" in lines
    assert "advertised.listeners=PLAINTEXT://127.0.0.1:9092,SECURE://127.0.0.1:9094" in lines
    assert "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL" in lines
    assert [line for line in lines if line.startswith("num.io.threads")] == ["num.io.threads=1"]


def test_settings_of_a_file_may_have_comments_and_equal_signs(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text('# TLS\n\nssl.client.auth = required\njaas.config=a required user="b";\n')
    assert read_properties(file) == {"ssl.client.auth": "required", "jaas.config": 'a required user="b";'}


@pytest.mark.parametrize(("text", "says"), [("a=1\nhello", "line 2: a setting is name=value"), (None, "can't be read")])
def test_an_invalid_settings_file_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "server.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PlatformError, match=says):
        read_properties(file)


def test_the_platform_keeps_kafka_s_default_limits() -> None:
    lines = server_properties(Listeners(9092, 9093), Path("data"))
    assert "timestamp" not in lines
    assert "max.bytes" not in lines
