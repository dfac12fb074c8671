"""The broker rights of each role are derived from the catalog of services."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.catalog import all_services, find_service
from forebay.kafka.acl_admin import AclAdmin
from forebay.kafka.acls import Operation, Resource, Right, Role, as_commands, missing_kind, rights
from forebay.kafka.identities import rescale_topic
from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver.rights import JobRights
from forebay.runtime.spec import JobSpec
from forebay.sql.service import job_of, service_of
from forebay.sql.statements import parse

SERVICES = all_services()


def rights_of(service: str, application: str, role: Role) -> set[str]:
    return {str(right) for right in rights(find_service(service), application, role)}


def test_a_job_reads_its_inputs_and_writes_everything_else() -> None:
    assert rights_of("ticket-sales", "shop", Role.RUN) == {
        "Read on the topic movie_ticket_sales",
        "Write on the topic movie_tickets_sold",
        "Write on the topic shop.errors",
        "Write on the topic shop.late",
        "Write on the topic shop-tickets-sold-changelog",
        "Write on the topic shop-0-task",
        "Write on the topic shop-1-task",
        "Read on the topic shop-tickets-sold-changelog",
        "Read on the topic shop-0-task",
        "Read on the topic shop-1-task",
        "Read on the topic shop-titles-repartition",
        "Write on the topic shop-titles-repartition",
        "Delete on the topic shop-titles-repartition",
        "Describe on the topic shop-rescale",
        "Read on the group shop-marker",
        "Read on the group shop-control",
        "Read on the group shop-restore",
        "Write on the transactional id shop-group-*",
    }


def test_the_other_roles_have_separate_rights() -> None:
    assert rights_of("price-join", "x", Role.PRODUCE) == {
        "Write on the topic menu_prices",
        "Write on the topic food_orders",
    }
    assert rights_of("price-join", "x", Role.CONSUME) == {
        "Read on the topic food_bills",
        "Read on the topic x.errors",
        "Read on the topic x.late",
    }
    assert rights_of("ticket-sales", "x", Role.RESTORE) == {
        "Read on the topic x-tickets-sold-changelog",
        "Read on the topic x-0-task",
        "Read on the topic x-1-task",
        "Read on the group x-standby",
    }
    assert rights_of("ticket-sales", "x", Role.QUERY) == {
        "Read on the topic x-tickets-sold-changelog",
        "Read on the topic x-0-task",
        "Read on the topic x-1-task",
    }


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("role", Role)
def test_nothing_is_listed_twice_or_for_others(name: str, role: Role) -> None:
    service = find_service(name)
    result = rights(service, "app", role)
    assert len(set(result)) == len(result)
    topics = {topic.name for topic in service.topics("app")} | {rescale_topic("app")}
    assert {right.name for right in result if right.resource is Resource.TOPIC} <= topics
    assert all(right.name.startswith("app") for right in result if right.resource is not Resource.TOPIC)


def test_a_job_may_use_the_groups_and_transactional_ids_it_uses() -> None:
    kafka = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x")
    spec = JobSpec("menu-votes", "app", 12, 1, kafka, {}, {}, "v1")
    needed = rights(find_service("menu-votes"), "app", Role.RUN)
    groups = {right.name for right in needed if right.resource is Resource.GROUP}
    assert groups == {spec.marker_group, spec.control_group, spec.restore_group}
    (prefix,) = [right.name for right in needed if right.resource is Resource.TRANSACTIONAL_ID]
    assert all(spec.transactional_id(group).startswith(prefix) for group in range(12))


def test_rights_become_commands_of_kafka() -> None:
    result = (
        Right(Operation.READ, Resource.TOPIC, "events", "input"),
        Right(Operation.WRITE, Resource.TRANSACTIONAL_ID, "app-0-", "", prefixed=True),
    )
    assert as_commands(result, "User:CN=job, O=us", "--bootstrap-server b:1") == [
        "kafka-acls --bootstrap-server b:1 --add --allow-principal 'User:CN=job, O=us' --operation Read --topic events",
        "kafka-acls --bootstrap-server b:1 --add --allow-principal 'User:CN=job, O=us' --operation Write "
        "--transactional-id app-0- --resource-pattern-type prefixed",
    ]


@pytest.mark.parametrize("kind", Resource)
def test_a_refusal_names_its_subject(kind: Resource) -> None:
    assert missing_kind(f'KafkaError{{code={kind.name}_AUTHORIZATION_FAILED,val=29,str="..."}}') is kind
    assert missing_kind("KafkaError{code=_TRANSPORT}") is None


def test_the_principal_is_derived_from_the_settings() -> None:
    def principal(**options: str | Secret) -> str:
        given = {name.replace("_", "."): value for name, value in options.items()}
        kafka = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x", kafka=given)
        return JobRights(kafka, find_service("user-sessions"), "app").principal

    assert principal(sasl_username="shop") == "User:shop"
    assert principal(ssl_certificate_location="tls.crt") == "the owner of tls.crt"
    assert principal() == "User:ANONYMOUS"


@pytest.mark.parametrize(
    "cause", ["KafkaError{code=INVALID_TXN_STATE,val=48}", "KafkaError{code=_UNKNOWN_TOPIC,val=-188}"]
)
def test_a_failure_that_hides_a_missing_right_is_explained_by_the_right(
    monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    kafka = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x", kafka={})
    own = JobRights(kafka, find_service("user-sessions"), "app")
    write = Right(Operation.WRITE, Resource.TOPIC, "user_sessions", "outputs")
    monkeypatch.setattr(AclAdmin, "__init__", lambda *_: None)
    monkeypatch.setattr(AclAdmin, "lacking", lambda *_: [write])
    assert "User:ANONYMOUS lacks Write on the topic user_sessions" in own.explain(cause)
    monkeypatch.setattr(AclAdmin, "lacking", lambda *_: [])
    assert own.explain(cause) == cause


SQL = """
CREATE STREAM clicks (user VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='raw-clicks', VALUE_FORMAT='JSON');
CREATE TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR) WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON');
CREATE STREAM unread (id VARCHAR KEY, name VARCHAR) WITH (KAFKA_TOPIC='notes', VALUE_FORMAT='JSON');
CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;
CREATE TABLE names AS SELECT * FROM users;
INSERT INTO users (id, name) VALUES ('1', 'Ann');
"""


def test_insert_values_needs_the_topics_of_declared_streams_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    statements = parse(SQL, "counts.sql", {})
    job = job_of(statements)
    service = service_of(Path("counts.sql"), statements, job)
    for module in ("forebay.kafka.acls", "forebay.catalog"):
        monkeypatch.setattr(f"{module}.load_job", lambda _: job)

    def write_topics(role: Role) -> set[str]:
        inserts = [right for right in rights(service, "x", role) if right.why.startswith("INSERT")]
        assert all(right.operation is Operation.WRITE for right in inserts)
        return {right.name for right in inserts}

    assert write_topics(Role.QUERY) == {"raw-clicks", "users", "notes"}
    assert write_topics(Role.RUN) == {"users"}, "a job sends its file's own records at its first start"
