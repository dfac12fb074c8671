"""Options unknown to librdkafka are rejected before connecting. The error names similar options and no secrets."""

from __future__ import annotations

import pytest

from forebay.kafka.errors import KafkaSettingsError
from forebay.kafka.option_names import ALL, from_environment, is_secret
from forebay.kafka.options import check_options, hide_secrets


def refusal(**options: str) -> str:
    with pytest.raises(KafkaSettingsError) as caught:
        check_options(hide_secrets({name.replace("_", "."): value for name, value in options.items()}))
    return str(caught.value)


def test_an_unknown_option_with_near_matches() -> None:
    assert "there is no Kafka option ssl.ca.locatio: did you mean ssl.ca.location" in refusal(ssl_ca_locatio="ca.pem")


def test_an_unknown_option_without_near_matches() -> None:
    assert refusal(zzzz="1") == "there is no Kafka option zzzz: librdkafka's CONFIGURATION.md lists them"


@pytest.mark.parametrize(("name", "value"), [("security.protocol", "TLS"), ("linger.ms", "soon"), ("debug", "nothing")])
def test_an_invalid_value_is_refused(name: str, value: str) -> None:
    assert f"librdkafka refuses the Kafka option {name}: Invalid value" in refusal(**{name: value})


def test_conflicting_options_are_refused() -> None:
    message = refusal(security_protocol="SSL", ssl_ca_location="/nowhere/ca.pem")
    assert "librdkafka refuses the Kafka options security.protocol, ssl.ca.location: " in message
    assert "ssl.ca.location failed" in message


@pytest.mark.parametrize("name", ["isolation.level", "enable.auto.commit", "partitioner", "transactional.id"])
def test_options_required_for_exactly_once_can_not_be_set(name: str) -> None:
    assert f"the Kafka option {name} can't be set: " in refusal(**{name: "x"})


def test_no_secret_is_shown() -> None:
    message = refusal(security_protocol="SASL_PLAINTEXT", sasl_mechanism="hunter2", sasl_password="hunter2")
    assert "hunter2" not in message


def test_options_of_managed_clusters_are_accepted() -> None:
    check_options(
        hide_secrets(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "me",
                "sasl.password": "hunter2",
                "linger.ms": "5",
                "fetch.min.bytes": "1",
            }
        )
    )


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_name_in_our_list_is_an_option(name: str) -> None:
    try:
        check_options({name: "\x01"})
    except KafkaSettingsError as error:
        complaint = str(error)
    else:
        complaint = ""
    assert "there is no Kafka option" not in complaint


def test_environment_variables_mean_options_with_dots_or_underscores() -> None:
    assert from_environment("SSL_CA_LOCATION") == "ssl.ca.location"
    assert from_environment("LOG_LEVEL") == "log_level"
    assert from_environment("SOMETHING_NEW") == "something.new"


def test_secret_options_are_known_as_such() -> None:
    assert {name for name in ALL if is_secret(name)} >= {"sasl.password", "ssl.key.password", "sasl.oauthbearer.config"}
    assert not is_secret("sasl.username")
