"""A fake `java` script, to test the platform's process handling without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forebay.platform import process
from forebay.platform.state import ProcessRecord

MakeJava = Callable[[str], Path]

_SCRIPT = """\
#!{python}
import signal, sys
if sys.argv[1] == "-version":
    sys.stderr.write('openjdk version "17.0.1"')
    sys.exit()
{body}
"""


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeJava:
    """Create a `java` of version 17 that runs the given Python statements, and let the platform find it."""

    def make(body: str) -> Path:
        java = tmp_path / "jre" / "bin" / "java"
        java.parent.mkdir(parents=True, exist_ok=True)
        java.write_text(_SCRIPT.format(python=sys.executable, body=body), encoding="utf-8")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
        return java

    return make


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[[Path], ProcessRecord]]:
    """Yield a function that starts processes, which are killed at the end of the test."""
    records: list[ProcessRecord] = []

    def spawn(java: Path) -> ProcessRecord:
        records.append(process.spawn(java, [], tmp_path / "java.log", "broker"))
        return records[-1]

    yield spawn
    for record in records:
        process.kill(record)
