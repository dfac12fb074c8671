"""A service works on an external Kafka with TLS, a login from a Secret, a registry login and minimal rights."""

from __future__ import annotations

import json
import uuid

import pytest
from cluster.external_kafka import HOST, PORTS, REGISTRY_URL, ExternalKafka
from cluster.manifests import secret
from cluster.polling import poll_until
from cluster.release import ClusterBench, Load, Release
from secured_broker import Administrator, mutual_options, scram_options

from forebay.catalog import find_service
from forebay.kafka.acls import Role, rights
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of

pytestmark = pytest.mark.timeout(1200, func_only=True)

TLS = "/etc/forebay/kafka-tls"
PASSWORDS = {name: f"{name}-{uuid.uuid4().hex}" for name in ("sessions", "shop", "registry")}


def connection(chart: str, options: dict[str, str], login: str, tls: str) -> list[str]:
    """Return a chart's values for the connection to Kafka."""
    values = {"existingSecret": login, "tlsSecret": tls}
    escaped = {f"options.{name.replace('.', chr(92) + '.')}": value for name, value in options.items()}
    return [f"{chart}.kafka.{name}={value}" for name, value in {**values, **escaped}.items()]


def servers(listener: str) -> list[str]:
    """Return the umbrella's values for the addresses of broker and registry."""
    return [
        "broker.enabled=false",
        f"global.kafka.bootstrapServers={HOST}:{PORTS[listener]}",
        f"global.kafka.schemaRegistryUrl={REGISTRY_URL}",
    ]


def by_password(release: Release, login: str) -> list[str]:
    """Return the values of a release whose service and producer each have a user."""
    return [
        *servers("USERS"),
        f"{release.service}.topics.create=false",
        *connection(release.service, scram_options("sessions"), login, "ca"),
        *connection(release.producer, scram_options("shop"), "shop-login", "ca"),
    ]


@pytest.fixture(scope="module")
def external(release: Release, tmp_path_factory: pytest.TempPathFactory) -> ExternalKafka:
    """Return a secured cluster with a user for the service and one for its producer."""
    folder = tmp_path_factory.mktemp("external")
    kafka = ExternalKafka(release.namespace, release.tag, folder, f"forebay:{PASSWORDS['registry']}")
    registry = {
        "FOREBAY_SCHEMA_REGISTRY_USERNAME": "forebay",
        "FOREBAY_SCHEMA_REGISTRY_PASSWORD": PASSWORDS["registry"],
        "FOREBAY_SCHEMA_REGISTRY_CA_LOCATION": f"{TLS}/ca.crt",
    }
    authority = kafka.authority.certificate.read_text()
    owner = kafka.authority.client("sessions")
    certificate = {"tls.crt": owner.certificate.read_text(), "tls.key": owner.key.read_text()}
    release.namespace.create(
        secret("ca", {"ca.crt": authority}),
        secret("owner", {"ca.crt": authority, **certificate}),
        secret("registry-login", registry),
        secret("sessions-login", {**registry, "FOREBAY_KAFKA_SASL_PASSWORD": PASSWORDS["sessions"]}),
        secret("wrong-login", {**registry, "FOREBAY_KAFKA_SASL_PASSWORD": "not the password"}),
        secret("shop-login", {**registry, "FOREBAY_KAFKA_SASL_PASSWORD": PASSWORDS["shop"]}),
    )
    return kafka


@pytest.fixture(scope="module")
def bench(release: Release, external: ExternalKafka) -> ClusterBench:
    """Create the topics, grant the rights as an administrator would, and install the release."""
    result = release.open(broker=HOST, registry=HOST)
    service = find_service(release.service)
    administrator = Administrator(result.settings)
    TopicAdmin(result.settings).create([spec_of(topic) for topic in service.topics(release.service)])
    for user, role in {"sessions": Role.RUN, "shop": Role.PRODUCE}.items():
        administrator.add_user(user, PASSWORDS[user])
        administrator.grant(f"User:{user}", *rights(service, release.service, role))
    administrator.grant("User:CN=sessions", *rights(service, release.service, Role.RUN))
    release.settings = by_password(release, "sessions-login")
    release.apply()
    return result


def test_login_from_a_secret_with_minimal_acls_suffices(release: Release, bench: ClusterBench) -> None:
    release.settle(bench, release.load(Load(seed=1)))


def test_second_executor_gets_the_login(release: Release, bench: ClusterBench) -> None:
    release.scale(2)
    release.settle(bench, release.load(Load(seed=2, rate=100)))
    release.scale(1)


def test_wrong_password_is_reported_and_no_record_is_lost(release: Release, bench: ClusterBench) -> None:
    release.settings = by_password(release, "wrong-login")
    release.apply(wait=False)
    poll_until(lambda: "refuses the login" in release.log(container="wait"), "the log reports the denied access", 180)
    assert not release.namespace.is_ready(release.driver)
    release.settings = by_password(release, "sessions-login")
    release.settle(bench, release.load(Load(seed=3)))


def test_a_job_resumes_with_a_certificate_instead_of_the_password(release: Release, bench: ClusterBench) -> None:
    owner = mutual_options(f"{TLS}/tls.crt", f"{TLS}/tls.key")
    shop = f"{release.producer}.kafka.bootstrapServers={HOST}:{PORTS['USERS']}"
    release.settings = [
        *servers("OWNERS"),
        f"{release.service}.topics.create=false",
        *connection(release.service, owner, "registry-login", "owner"),
        *connection(release.producer, scram_options("shop"), "shop-login", "ca"),
        shop,
    ]
    release.apply()
    release.settle(bench, release.load(Load(seed=4)))


def test_passwords_are_only_in_secrets(release: Release, bench: ClusterBench) -> None:
    kinds = "configmaps,deployments,jobs,pods,events"
    texts = {kinds: json.dumps(release.namespace.get(kinds))}
    for pod in release.namespace.names("pods"):
        texts[pod] = release.namespace.kubectl("logs", pod, "--all-containers", check=False)
    assert "FOREBAY_KAFKA_SASL_USERNAME" in texts[kinds], "the search must see the settings"
    assert [place for place, text in texts.items() for word in PASSWORDS.values() if word in text] == []
