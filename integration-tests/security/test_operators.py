"""Operating a service requires exactly the operator's rights. If one is missing, the error names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from security.secured import Secured

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.kafka.acls import Operation, Role, rights
from forebay.kafka.admin import TopicAdmin

SERVICE = find_service("price-join")
NEEDED = rights(SERVICE, "priced", Role.OPERATE)
FEWER = {
    Operation.CREATE: "can't create the topic",
    Operation.DESCRIBE_CONFIGS: "can't describe the topic",
    Operation.DELETE: "can't describe the topic",
}

Operator = Callable[..., int]


@pytest.fixture
def operator(broker: Secured, tmp_path: Path) -> Operator:
    """Return a function that runs a command as the operator, who has the listed rights and a password."""
    broker.add_user("operator", "operator-password")
    broker.grant("User:operator", *NEEDED)
    environment = broker.environment(broker.scram, broker.scram_options("operator", "operator-password"))

    def command(*words: str) -> int:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**environment, "FOREBAY_HOME": str(tmp_path)}.items():
                patch.setenv(name, value)
            return run([*words, "--application", "priced"])

    return command


def test_operator_can_create_describe_and_reset_topics(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    assert operator("topics", "create", SERVICE.name) == 0
    capsys.readouterr()
    assert operator("topics", "describe", SERVICE.name, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert [topic["name"] for topic in result] == [topic.name for topic in SERVICE.topics("priced")]
    assert all(topic["exists"] and not topic["differences"] for topic in result)
    assert operator("reset", SERVICE.name, "--outputs", "--yes") == 0


@pytest.mark.parametrize("operation", FEWER, ids=str)
def test_operator_without_a_required_acl_gets_an_error_that_names_it(
    operation: Operation, operator: Operator, broker: Secured, capsys: pytest.CaptureFixture[str]
) -> None:
    right = next(right for right in NEEDED if right.operation is operation and right.name == SERVICE.output.name)
    assert operator("topics", "create", SERVICE.name) == 0
    if operation is Operation.CREATE:
        TopicAdmin(broker.administrator).delete([right.name])
    broker.revoke("User:operator", right)
    assert operator("topics", "create", SERVICE.name) == 1
    error = capsys.readouterr().err
    assert f"{FEWER[operation]} {right.name}" in error
    assert "not authorized (TOPIC_AUTHORIZATION_FAILED): `forebay acl`" in error
    broker.grant("User:operator", right)
    assert operator("topics", "create", SERVICE.name) == 0
