"""The command `forebay sql` and its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli.main import run

DECLARED = "CREATE STREAM s (id BIGINT KEY, n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
COMPUTED = " CREATE STREAM a AS SELECT id, n FROM s;"


@pytest.mark.parametrize("server", ["foo", "http://foo:abc", "http://"])
def test_invalid_server_url_is_refused_with_an_example(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--server", server, "-e", "SHOW TABLES;"]) == 2
    assert f"--server {server}: write the query server's URL, such as http://127.0.0.1:7070" in capsys.readouterr().err


def test_unreachable_server_is_reported_without_python_internals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--server", "http://127.0.0.1:9", "-e", "SHOW TABLES;"]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:9/sql can't be reached: " in error
    assert "urlopen" not in error


def test_a_token_of_two_lines_is_refused_without_being_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text("hunter2hunter2hunter2\nhunter3\n")
    assert run(["sql", "--token-file", str(file), "--server", "http://127.0.0.1:9", "-e", "SHOW TABLES;"]) == 2
    error = capsys.readouterr().err
    assert "token holds more than one line or word: a token is one word of ASCII" in error
    assert "hunter" not in error


def test_a_missing_registry_is_reported_with_the_statement_that_needs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.sql"
    file.write_text("\nCREATE STREAM s WITH (KAFKA_TOPIC='in', VALUE_FORMAT='AVRO');" + COMPUTED)
    assert run(["sql", "-f", str(file), "--home", str(tmp_path), "--bootstrap-servers", "b:1"]) == 1
    error = capsys.readouterr().err
    assert "views.sql:2:1: in: the columns are left out, and no registry gives them: no schema registry: " in error
    assert "specify yours with --schema-registry-url" in error


def test_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "views.sql"
    file.write_text(DECLARED + COMPUTED, encoding="utf-8-sig")
    assert run(["sql", "-f", str(file)]) == 0


def test_unreadable_file_is_not_reported_as_an_encoding_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone.sql").symlink_to(tmp_path / "nowhere.sql")
    assert run(["sql", "-f", str(tmp_path)]) == 1
    assert "gone.sql:1:1: the file can't be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "views.sql:1:1: there are no statements: write CREATE STREAM or TABLE ... AS SELECT"),
        ("\nSELECT * FROM s;", "views.sql:2:1: nothing is computed: write CREATE STREAM or TABLE ... AS SELECT"),
    ],
)
def test_file_without_queries_is_refused_before_it_runs(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.sql"
    file.write_text(text)
    assert run(["sql", "-f", str(file)]) == 1
    assert problem in capsys.readouterr().err


def test_file_with_only_declarations_answers_show_statements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.sql"
    file.write_text(DECLARED)
    assert run(["sql", "-f", str(file), "-e", "SHOW STREAMS;", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("S,in,")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--backfill", "--from", "parquet"], "--from parquet: 'parquet' is not a source: write FORMAT:PATH"),
        (["--backfill", "--from", "other=topic"], "--from other=topic: views reads no topic other"),
        (["--backfill"], "Missing option '--from'"),
        (["--backfill", "--run"], "use only one of --run, --serve and --backfill"),
        (["--serve", "--run"], "use only one of --run, --serve and --backfill"),
    ],
)
def test_a_backfill_of_a_file_takes_the_options_of_a_backfill(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("FOREBAY_SERVICES", "FOREBAY_SQL"):
        # The command sets these variables for its child processes.
        monkeypatch.setenv(name, "")
    file = tmp_path / "views.sql"
    file.write_text(DECLARED + COMPUTED)
    assert run(["sql", "-f", str(file), *arguments, "--home", str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err
