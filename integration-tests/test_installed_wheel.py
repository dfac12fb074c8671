"""The wheel as others get it: built, installed outside the checkout, its types and contracts used from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.docs import walkthrough

pytestmark = pytest.mark.timeout(420)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that knows nothing of the checkout; give what it printed."""
    hidden = ("PYTHONPATH", "MYPYPATH", "FOREBAY_SERVICES")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=walkthrough.ROOT)
    (built,) = folder.glob("forebay-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment that has the wheel, and what it needs from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"forebay/py.typed", "producers/py.typed"} <= set(names)


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


def test_contracts_are_package_data_whatever_lies_beside_the_packages(python: Path, tmp_path: Path) -> None:
    beside = next(python.parents[1].glob("lib/python*")) / "avro"
    beside.mkdir()
    script = (
        "import forebay\nfrom forebay.catalog import all_services\nfrom forebay.serde.contracts import load_contract\n"
        "for service in all_services().values():\n"
        "    for topic in service.topics():\n"
        "        topic.record and load_contract(service.name, topic.record)\n"
        "print(forebay.__file__)\n"
    )
    printed = run(python, "-c", script, cwd=tmp_path)
    assert Path(printed.strip()).is_relative_to(python.parents[1])


def test_the_walk_through_s_own_tests_pass_with_it(python: Path, tmp_path: Path) -> None:
    walkthrough.write(tmp_path)
    walkthrough.install(tmp_path)
    printed = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page_counts.py", cwd=tmp_path)
    assert "5 passed" in printed


def test_a_new_service_is_written_and_checked_by_it(python: Path, tmp_path: Path) -> None:
    run(python, "-m", "forebay.cli.main", "new", "page-counts", cwd=tmp_path)
    printed = run(python, "-m", "forebay.cli.main", "check", "page-counts", cwd=tmp_path / "page-counts")
    assert printed == "page-counts: fine: 100 records of page_counts_events in, 100 out\n"
