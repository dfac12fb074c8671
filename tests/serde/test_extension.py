"""The native code is used if it can be built. If not, its absence is reported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import hatch_build
from forebay.cli import application
from forebay.cli.main import cli
from forebay.serde.extension import native_codec
from forebay.utils.native import SWITCH, missing

SAYS = """
from forebay.utils.native import missing
from forebay.serde.extension import native_codec
print(native_codec(), missing())
"""
WITHOUT = f"import sys; sys.modules['forebay.serde.native'] = None\n{SAYS}"


def python(code: str, switch: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, SWITCH: switch, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.skipif(hatch_build.headers() is None, reason="Python's headers are missing: it can't be built")
@pytest.mark.skipif(os.environ.get(SWITCH) == "off", reason=f"{SWITCH}=off")
def test_native_extension_is_in_use() -> None:
    assert missing() == ""
    assert native_codec() is not None


def test_native_extension_can_be_disabled() -> None:
    assert python(SAYS, "off").stdout.startswith("None native code is not in use (FOREBAY_NATIVE=off): ")


@pytest.mark.long
def test_python_code_is_used_without_the_native_extension() -> None:
    done = python(WITHOUT, "")
    assert done.stdout.startswith("None native code is not in use (")
    assert "a C compiler and Python's headers are needed" in done.stdout


def test_missing_part_of_the_native_extension_is_reported() -> None:
    tables = f"import sys; sys.modules['forebay.stores.native'] = None; import forebay.stores.ordered\n{SAYS}"
    done = python(tables, "")
    assert "native code is not in use (import of forebay.stores.native halted" in done.stdout


def test_missing_native_extension_is_an_error_if_required() -> None:
    done = python(WITHOUT, "required")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(("reason", "shown"), [("no compiler", "warning: no compiler\n"), ("", "")])
def test_job_logs_a_missing_native_extension_at_start(monkeypatch: pytest.MonkeyPatch, reason: str, shown: str) -> None:
    monkeypatch.setattr(application, "missing", lambda: reason)
    monkeypatch.setattr(application, "application_of", lambda *_: None)
    monkeypatch.setattr(application, "run_until_told", lambda _: None)
    done = CliRunner().invoke(
        cli, ["run", "user-sessions", "--bootstrap-servers", "x:1", "--schema-registry-url", "http://x"]
    )
    assert (done.exit_code, done.stderr) == (0, shown), done.output
