"""`forebay new` writes a typed and formatted service, whose own tests pass, and rejects unusable names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from forebay.cli.main import run
from forebay.scaffold.project import Kind, WrongName, package_name, project_files
from tests.docs import walkthrough

pytestmark = pytest.mark.long


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "page-counts"]) == 0
    return tmp_path / "page-counts"


def test_its_tests_pass_and_the_commands_find_it(folder: Path) -> None:
    done = walkthrough.shell(folder, "forebay check page-counts; python -m pytest -q; forebay services page-counts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page-counts: fine: 100 records of page_counts_events in, 100 out" in done.stdout
    assert "5 passed" in done.stdout
    assert "least_amount=0.0 (float): events of a smaller amount are not counted." in done.stdout


def test_it_is_typed_and_in_style(folder: Path) -> None:
    config = f'--config "{walkthrough.ROOT}/pyproject.toml"'
    styled = walkthrough.shell(folder, f"ruff check {config} --ignore D103,D104 .; ruff format {config} --check .")
    assert styled.returncode == 0, styled.stdout
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", walkthrough.ROOT / "pyproject.toml", "page_counts"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert typed.returncode == 0, typed.stdout


def test_its_chart_values_are_those_the_chart_takes(folder: Path) -> None:
    given = yaml.safe_load((folder / "values.yaml").read_text())
    known = yaml.safe_load((walkthrough.ROOT / "charts" / "forebay-service" / "values.yaml").read_text())
    assert given["service"] == "page-counts"
    assert given.keys() <= known.keys()
    assert all(given[name].keys() <= known[name].keys() for name in ("image", "kafka"))


@pytest.mark.parametrize(("kind", "logic"), [("sql", "statements.sql"), ("ksml", "definition.yaml")])
def test_one_of_sql_or_ksml_passes_its_tests_and_is_in_style(
    kind: str, logic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", f"sums-of-{kind}", f"--{kind}"]) == 0
    folder = tmp_path / f"sums-of-{kind}"
    assert (folder / f"sums_of_{kind}" / logic).is_file()
    done = walkthrough.shell(folder, f"forebay check sums-of-{kind}; python -m pytest -q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"sums-of-{kind}: fine: 100 records of sums_of_{kind}_events in, 100 out" in done.stdout
    assert "3 passed" in done.stdout
    config = f'--config "{walkthrough.ROOT}/pyproject.toml"'
    styled = walkthrough.shell(folder, f"ruff check {config} --ignore D103,D104 .; ruff format {config} --check .")
    assert styled.returncode == 0, styled.stdout


def test_sql_or_ksml_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "sums", "--sql", "--ksml"]) == 2
    assert "use only one of --sql and --ksml" in capsys.readouterr().err


@pytest.mark.parametrize("kind", Kind)
def test_no_placeholder_is_left(kind: Kind) -> None:
    files = project_files("page-counts", kind)
    assert {"pyproject.toml", "Dockerfile", "values.yaml", "page_counts/producer.py", "README.md"} <= files.keys()
    assert ("page_counts/avro/Event.avsc" in files) == (kind is Kind.PYTHON)
    assert not [path for path, text in files.items() if "$" in text or "PACKAGE" in text]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Page Counts", "'Page Counts' is not a valid name of a service: .* such as page-counts"),
        ("7up", "such as up"),
        ("page_counts", "such as page-counts"),
        ("x" * 51, "at most 50"),
        ("json", "Python has a json already, .* write json-service"),
        ("class", "write class-service"),
    ],
)
def test_a_name_that_cant_be_used_is_refused_with_one_that_can(name: str, message: str) -> None:
    with pytest.raises(WrongName, match=message):
        package_name(name)


def test_a_folder_that_is_there_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "page_counts" / "logic.py").write_text("mine")
    assert run(["new", "page-counts"]) == 2
    assert "page-counts already exists: choose another name or --folder" in capsys.readouterr().err
    assert (folder / "page_counts" / "logic.py").read_text() == "mine"


def test_a_service_of_the_table_is_not_created_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "user-sessions"]) == 2
    assert "there is a service user-sessions already" in capsys.readouterr().err
