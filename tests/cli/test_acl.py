"""`forebay acl` prints the rights of roles without a broker, and rejects malformed principals."""

from __future__ import annotations

import pytest

from forebay.cli.main import run


def test_the_table_and_the_commands_list_the_same_rights(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["acl", "user-sessions"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert run(["acl", "user-sessions", "--print", "--principal", "User:x", "--bootstrap-servers", "b:1"]) == 0
    commands = capsys.readouterr().out.splitlines()
    assert len(table) == len(commands) == 13
    assert commands[0] == (
        "kafka-acls --bootstrap-server b:1 --command-config admin.properties --add --allow-principal User:x "
        "--operation Read --topic user_activity"
    )


def test_several_roles_are_listed_together_each_right_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["acl", "ticket-sales", "--role", "run", "--role", "restore"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[:3] == ["Read", "topic", "ticket-sales-1-task"] for line in lines) == 1


@pytest.mark.parametrize("principal", ["x", "User:", ":x"])
def test_a_principal_has_type_and_name(principal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["acl", "user-sessions", "--principal", principal]) == 2
    assert "specify TYPE:NAME" in capsys.readouterr().err


def test_rights_are_granted_to_a_principal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["acl", "user-sessions", "--apply"]) == 2
    assert "--principal" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password"])
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reach = ("--bootstrap-servers", "b:1", "--schema-registry-url", "http://r:1")
    assert run(["run", "user-sessions", "-X", f"{name}=hunter2", *reach]) == 2
    error = capsys.readouterr().err
    assert f"Set FOREBAY_KAFKA_{name.upper().replace('.', '_')}" in error
    assert "hunter2" not in error
