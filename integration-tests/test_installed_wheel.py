"""The two wheels, built and installed outside the checkout, contain their types and contracts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from forebay.catalog import all_services
from forebay.producing.sources import all_sources
from tests.docs import walkthrough

pytestmark = pytest.mark.timeout(420)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without access to the checkout, and return its output."""
    hidden = ("PYTHONPATH", "MYPYPATH", "FOREBAY_SERVICES")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel of the library and that of the services."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in (walkthrough.ROOT, walkthrough.ROOT / "services"):
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=project)
    library, services = sorted(folder.glob("*.whl"))
    return library, services


@pytest.fixture(scope="module")
def python(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the wheels. Dependencies are those of the tests' environment."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    (site,) = folder.glob("lib/python*/site-packages")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(site)
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


def test_library_wheel_contains_no_service_and_both_wheels_are_typed(wheels: tuple[Path, Path]) -> None:
    library, services = (zipfile.ZipFile(wheel).namelist() for wheel in wheels)
    tops = [{name.partition("/")[0] for name in names if ".dist-info/" not in name} for names in (library, services)]
    packages = {service.package for service in all_services().values()}
    assert tops == [{"forebay"}, {*packages, "producers"}]
    assert {"forebay/py.typed", "forebay/contracts/forebay/Block.avsc"} <= set(library)
    assert {"producers/py.typed", "user_sessions/avro/UserActivity.avsc", "sensor_views/views/part_avg.sql"} <= set(
        services
    )
    assert [name for name in (*library, *services) if name.endswith(".pyc")] == []
    assert [name for name in library if "conformance" in name] == [], "the case runner is for developers of the stores"


def test_installed_command_line_has_no_conformance_command(python: Path, tmp_path: Path) -> None:
    assert "conformance" not in run(python, "-m", "forebay.cli.main", "--help", cwd=tmp_path)


def test_the_services_and_their_producers_are_found(python: Path, tmp_path: Path) -> None:
    listed = json.loads(run(python, "-m", "forebay.cli.main", "services", "--json", cwd=tmp_path))
    assert [service["name"] for service in listed] == list(all_services())
    script = "from forebay.producing.sources import all_sources\nprint(*all_sources())\n"
    assert run(python, "-c", script, cwd=tmp_path).split() == list(all_sources())
    assert run(python, "-m", "forebay.cli.main", "check", cwd=tmp_path).count(": fine: ") == len(listed)


def test_job_without_sql_does_not_import_a_sql_parser(python: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nsys.modules['sqlglot'] = sys.modules['jgo'] = None\n"
        "import forebay.cli.queries, forebay.cli.run, forebay.cli.up\nfrom forebay.cli.main import run\n"
        "sys.exit(run(['topology', 'user-sessions']))\n"
    )
    assert "reads user_activity" in run(python, "-c", script, cwd=tmp_path)


def test_the_walk_through_type_checks_against_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    walkthrough.write(tmp_path)
    checked = ("page_counts", "test_page_counts.py")
    printed = run(
        *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", python, *checked),
        cwd=tmp_path,
    )
    assert "Success: no issues found" in printed
    file = tmp_path / "page_counts" / "logic.py"
    file.write_text(file.read_text().replace("page=event.page,", "page=event.timestamp,"))
    with pytest.raises(AssertionError, match=r'Argument "page" to "PageCount" has incompatible type "int"'):
        run(
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", python, *checked),
            cwd=tmp_path,
        )


def test_contracts_are_package_data_regardless_of_other_folders(python: Path, tmp_path: Path) -> None:
    package = next(python.parents[1].glob("lib/python*")) / "avro"
    package.mkdir()
    script = (
        "import forebay\nfrom forebay.catalog import all_services\nfrom forebay.serde.contracts import load_contract\n"
        "for service in all_services().values():\n"
        "    for topic in service.topics():\n"
        "        topic.record and load_contract(service.name, topic.record)\n"
        "print(forebay.__file__)\n"
    )
    printed = run(python, "-c", script, cwd=tmp_path)
    assert Path(printed.strip()).is_relative_to(python.parents[1])


def test_walkthrough_tests_pass_against_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    walkthrough.write(tmp_path)
    walkthrough.install(tmp_path)
    printed = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page_counts.py", cwd=tmp_path)
    assert "5 passed" in printed


def test_installed_wheel_creates_and_checks_a_new_service(python: Path, tmp_path: Path) -> None:
    run(python, "-m", "forebay.cli.main", "new", "page-counts", cwd=tmp_path)
    printed = run(python, "-m", "forebay.cli.main", "check", "page-counts", cwd=tmp_path / "page-counts")
    assert printed == "page-counts: fine: 100 records of page_counts_events in, 100 out\n"
