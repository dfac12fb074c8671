from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from forebay.cli import main as cli_main
from forebay.cli.lazy import LazyCommand
from forebay.platform import PlatformError

COMMANDS = list(cli_main.COMMANDS)


def failing(error: Exception) -> click.Command:
    @click.command()
    def fail() -> None:
        raise error

    return fail


@pytest.fixture
def command_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    error = PlatformError("port 1 is in use:\n  choose another.", log_tail="last words")
    monkeypatch.setattr(LazyCommand, "load", lambda _: failing(error))


def test_help_names_every_command_and_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert "forebay run user-sessions" in text


def test_without_arguments_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run([]) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["topics", "store", "errors", "ksml"])
def test_a_group_without_a_command_shows_its_help_as_it_is(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run([group]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"Usage: forebay {group} [OPTIONS] COMMAND [ARGS]..."
    assert "Commands:" in lines


def test_help_imports_no_client_and_no_engine() -> None:
    program = (
        "import sys; from forebay.cli.main import run; run(['--help']); "
        "print([m for m in ('confluent_kafka', 'pyspark', 'jgo', 'pandas') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    assert answer.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["demo", "services", "status", "up", "down", "produce", "reset"])
def test_variables_are_named_like_their_options(command: str) -> None:
    for option in cli_main.COMMANDS[command].load().params:
        if isinstance(option, click.Option) and not option.secondary_opts and not option.multiple:
            name = option.opts[0].removeprefix("--").replace("-", "_").upper()
            given = option.envvar or f"FOREBAY_{command.upper()}_{str(option.name).upper()}"
            assert str(given).endswith(f"_{name}"), option.opts


@pytest.mark.parametrize("command", ["up", "down", "status"])
def test_every_option_names_its_environment_variable(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    options = [part.split()[0] for part in text.split(" --")[1:]]
    assert "home" in options
    for option in {"home", "broker-port", "registry-port", "delete-data", "yes"} & set(options):
        variable = "FOREBAY_HOME" if option == "home" else f"FOREBAY_{command}_{option}".upper().replace("-", "_")
        assert f"env var: {variable}" in text


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["upp"], "'up'"),
        (["stop"], "'down'"),
        (["Topic"], "'topics'"),
        (["topics", "crate"], "'create'"),
        (["errors", "re-play"], "'replay'"),
        (["ksml", "chek"], "'check'"),
        (["run", "user_sessions"], "'user-sessions'"),
        (["topology", "Order-Store"], "'order-stores'"),
        (["run", "user-sessions", "--bootstrap-server", "b:1"], "'--bootstrap-servers'"),
        (["up", "--prot", "1"], "'--broker-port'"),
        (["help", "rum"], "'run'"),
    ],
)
def test_a_misspelt_name_is_answered_with_a_suggestion(
    given: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_main.run(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"; did you mean {meant}? See `forebay" in line
    assert len(line) < 150


@pytest.mark.parametrize("given", [["xyzzy"], ["run", "user-sessions", "--xyzzy"]])
def test_an_unknown_name_without_a_similar_one_gets_a_short_message(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_main.run(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--help`." in line
    assert len(line) < 100


def test_the_commands_of_a_small_group_are_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["topics", "xyzzy"]) == 2
    assert "no command 'xyzzy'; the commands are " in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run"], ["topics", "create"], ["ksml", "check"], []])
def test_help_of_a_command_is_shown_as_by_its_option(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run([*command, "--help"]) == 0
    expected = capsys.readouterr().out
    assert cli_main.run(["help", *command]) == 0
    assert capsys.readouterr().out == expected


def test_help_for_a_missing_subcommand_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["help", "run", "now"]) == 2
    assert "'now': `forebay run` has no subcommands" in capsys.readouterr().err


def test_version_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--version"]) == 0
    expected = capsys.readouterr().out
    assert cli_main.run(["version"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("value", ["abc", "0", "70000"])
def test_an_unusable_value_is_refused_with_the_valid_ones(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["up", "--broker-port", value]) == 2
    message = capsys.readouterr().err
    assert value in message
    assert "65535" in message


def test_a_range_without_an_end_is_described_by_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["produce", "user_activity", "--keys", "0"]) == 2
    assert "(a whole number, 1 or more)" in capsys.readouterr().err


def test_an_unusable_environment_variable_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREBAY_UP_BROKER_PORT", "many")
    assert cli_main.run(["up"]) == 2
    assert "'many'" in capsys.readouterr().err


@pytest.mark.usefixtures("command_that_fails")
def test_an_error_is_one_line_after_the_logs_tail(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["up"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["last words", "error: port 1 is in use: choose another."]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (
            [],
            "no broker: start the embedded platform with `forebay up`, or specify yours with --bootstrap-servers and "
            "--schema-registry-url",
        ),
        (
            ["--bootstrap-servers", "b:1"],
            "no schema registry: start the embedded platform with `forebay up`, or specify yours with --schema",
        ),
        (
            ["--schema-registry-url", "http://r"],
            "no broker: start the embedded platform with `forebay up`, or specify yours with --bootstrap",
        ),
    ],
)
def test_the_option_that_is_missing_is_named(
    given: list[str], missing: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli_main.run(["topics", "create", "--home", str(tmp_path), *given]) == 1
    error = capsys.readouterr().err
    assert missing in error
    assert not any(option in error.partition("or give")[2] for option in given)


@pytest.mark.usefixtures("command_that_fails")
def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--debug", "up"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_reported_as_an_interruption(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LazyCommand, "load", lambda _: interrupt)
    assert cli_main.run(["up"]) == 130
    assert capsys.readouterr().err.strip() == "error: interrupted"
